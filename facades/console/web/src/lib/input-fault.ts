/** Checks a job's input that a user wrote. */

/** Returns why the text is no input. Empty if it is one. */
export function faultOf(text: string): string {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? ''
      : 'The input must be a JSON object.';
  } catch (error) {
    return `The input is not valid JSON: ${(error as Error).message}`;
  }
}
