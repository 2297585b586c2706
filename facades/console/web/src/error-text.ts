/** Errors of handlers as people read them: SDKs report a JSON object of type, message and traceback as one text. */

/** The message alone, and all of it. */
export function errorText(error: string): { message: string; whole: string } {
  try {
    const { error_type: type, error_message: message, error_traceback: trace } = JSON.parse(error) as Record<string, unknown>;
    if (typeof message !== 'string') return { message: error, whole: error };
    const named = typeof type === 'string' ? `${type}: ${message}` : message;
    return { message: named, whole: typeof trace === 'string' && trace !== '' ? trace : named };
  } catch {
    return { message: error.split('\n').findLast((line) => line.trim() !== '') ?? error, whole: error };
  }
}
