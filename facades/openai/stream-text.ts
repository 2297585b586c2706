/** Turns streamed chunks into the text of an OpenAI event stream (compat.md 1.10). */
import { frameEvent } from '../queue/sse.ts';
import { outputError } from './worker-error.ts';
import type { OpenaiError } from './worker-error.ts';

/** The last event of every OpenAI stream. */
export const DONE = 'data: [DONE]\n\n';

const DONE_LINE = /^data: ?\[DONE\]/m;

/** What one chunk amounts to. */
export interface StreamPiece {
  /** To write, in order. May be empty. */
  text: string;
  /** It held the last event. */
  done: boolean;
  /** It held an error instead of output. */
  error: OpenaiError | undefined;
}

/** Strings are event text already and pass unchanged; objects become one event each; lists are taken apart. */
export function streamPiece(chunk: Buffer): StreamPiece {
  const value = JSON.parse(chunk.toString('utf8')) as unknown;
  if (!Array.isArray(value)) return single(value, chunk);
  const pieces = value.map((item) => single(item, JSON.stringify(item)));
  return {
    text: pieces.map((piece) => piece.text).join(''),
    done: pieces.some((piece) => piece.done),
    error: pieces.find((piece) => piece.error !== undefined)?.error,
  };
}

/** An error as the event that OpenAI clients raise. */
export function errorEvent({ error }: OpenaiError): string {
  return frameEvent({ data: JSON.stringify({ error }) });
}

function single(value: unknown, json: Buffer | string): StreamPiece {
  if (value === null) return { text: '', done: false, error: undefined };
  if (typeof value === 'string') return { text: value, done: DONE_LINE.test(value), error: undefined };
  const error = outputError(value);
  return { text: error ? '' : frameEvent({ data: json }), done: false, error };
}
