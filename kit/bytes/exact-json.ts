/** JSON whose numbers stay as they were written. As a JavaScript number, one of more than 15 digits would change. */

declare global {
  /** Members of ECMAScript's "JSON.parse source text access", which TypeScript does not know yet. */
  interface JSON {
    rawJSON(text: string): object;
    isRawJSON(value: unknown): boolean;
  }
}

/**
 * Parses JSON. Numbers that would change become objects, which JSON.stringify writes as they were. In browsers before
 * 2025 they change. Throws SyntaxError, also for JSON that is nested some thousand times.
 */
export function parseExact(text: string): unknown {
  try {
    return JSON.parse(text, (_key: string, value: unknown, { source }: { source?: string } = {}) =>
      typeof value === 'number' && source !== undefined && String(value) !== source ? JSON.rawJSON(source) : value,
    ) as unknown;
  } catch (error) {
    // Unlike JSON.parse alone, that with a function recurses.
    if (error instanceof RangeError) throw new SyntaxError('it is nested too deep', { cause: error });
    throw error;
  }
}

/** Returns whether a parsed value is a number that would change. */
export function isRawNumber(value: unknown): boolean {
  // Browsers before 2025 lack it.
  return typeof JSON.isRawJSON === 'function' && JSON.isRawJSON(value);
}

/** Returns whether a parsed value is a JSON object. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value);
}
