/** Builds sentences for people from texts that may already end in a full stop. Pure. */

/** Returns the text with a full stop, unless it ends a sentence already. */
export function closed(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** Returns the text as a sentence: with a capital letter and a full stop. */
export function sentence(text: string): string {
  return closed(`${text.charAt(0).toUpperCase()}${text.slice(1)}`);
}
