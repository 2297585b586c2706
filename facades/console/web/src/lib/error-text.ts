/**
 * Errors of handlers as people read them: SDKs report a JSON object of type, message and traceback as one text, or
 * message and traceback as two lines.
 */
import { plainText } from './worker-text.ts';

/** Most characters that are shown. */
const MESSAGE_MAX = 2_000;
const WHOLE_MAX = 200_000;

/** Returns the message alone, and the whole error. */
export function errorText(error: string): { message: string; whole: string } {
  const { message, whole } = parts(error);
  return { message: plainText(message.slice(0, MESSAGE_MAX)), whole: plainText(whole.slice(0, WHOLE_MAX)) };
}

function parts(error: string): { message: string; whole: string } {
  try {
    const {
      error_type: type,
      error_message: message,
      error_traceback: trace,
    } = JSON.parse(error) as Record<string, unknown>;
    if (typeof message !== 'string') return { message: error, whole: error };
    const named = typeof type === 'string' ? `${type}: ${message}` : message;
    return { message: named, whole: typeof trace === 'string' && trace !== '' ? trace : named };
  } catch {
    const match = /^handler: (.*?) ?\ntraceback: (.*)/s.exec(error);
    if (match) return { message: match[1]!, whole: match[2]!.trim() || match[1]! };
    return { message: error.split('\n').findLast((line) => line.trim() !== '') ?? error, whole: error };
  }
}
