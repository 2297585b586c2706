/** Sentences for people, made of texts that may be one already. Pure. */

/** Ends a sentence that may have its end. */
export function closed(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
