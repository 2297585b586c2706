/** States and results of a JSON scan. */

/** Offsets of a value in the text, without whitespace around it. `end` is exclusive. */
export interface Span {
  start: number;
  end: number;
}

/** Reason why a text is not JSON. `at`: offset of the first wrong byte; the text's length if it ends too early. */
export interface JsonFault {
  kind: 'utf8' | 'syntax';
  at: number;
}

/**
 * States of a scan, which compares them by order: from TEXT on it is inside a string or number, which may be
 * long.
 */
export const VALUE = 0;
export const FIRST_VALUE = 1;
export const KEY = 2;
export const FIRST_KEY = 3;
export const AFTER_KEY = 4;
export const AFTER_VALUE = 5;
export const TEXT = 6;
export const KEY_TEXT = 7;
export const INTEGER = 8;
export const FRACTION = 9;
export const EXPONENT = 10;
