/** Converts streamed chunks to the text of an OpenAI event stream (docs/reference/api.md#openai). */
import { kindAt, skipSpace } from '@slipway/kit/bytes/json-bytes';
import { itemEnds } from '@slipway/kit/bytes/json-items';
import type { Work } from '@slipway/kit/bytes/sliced-work';
import type { OpenaiError } from '@slipway/kit/openai/worker-error';
import { errorMembers, outputError } from '@slipway/kit/openai/worker-error';
import { frameEvent } from '../jobs/sse.ts';

/** Last event of every OpenAI stream. */
export const DONE = 'data: [DONE]\n\n';

const DONE_LINE = /^data: ?\[DONE\]/m;

/** Result of one chunk. */
interface StreamPiece {
  /** Text to write. May be empty. */
  text: string;
  /** Whether this is the last event. */
  done: boolean;
  /** Error instead of output. `undefined` if there is none. */
  error: OpenaiError | undefined;
}

/**
 * Converts a chunk to event text. Strings are that already and pass unchanged; objects become one event each; lists are
 * taken apart. `chunk` must be JSON.
 */
export function* streamPiece(chunk: Buffer): Work<StreamPiece> {
  const start = skipSpace(chunk, 0);
  if (kindAt(chunk, start) !== 'array') return yield* single(chunk.subarray(start));
  const list = chunk.subarray(start);
  const texts: string[] = [];
  let done = false;
  let error: OpenaiError | undefined;
  let from = 1;
  for (const end of itemEnds(list)) {
    yield;
    if (end === undefined) continue;
    const itemStart = skipSpace(list, from);
    if (itemStart < end) {
      const piece = yield* single(list.subarray(itemStart, end));
      texts.push(piece.text);
      done ||= piece.done;
      error ??= piece.error;
    }
    from = end + 1;
  }
  return { text: texts.join(''), done, error };
}

/** Returns an error as an event that OpenAI clients raise. */
export function errorEvent({ error }: OpenaiError): string {
  return frameEvent({ data: JSON.stringify({ error }) });
}

function* single(json: Buffer): Work<StreamPiece> {
  const kind = kindAt(json, 0);
  if (kind === 'string') {
    const text = JSON.parse(json.toString('utf8')) as string;
    return { text, done: DONE_LINE.test(text), error: undefined };
  }
  if (kind === 'other' && json.toString('latin1', 0, 4) === 'null') return { text: '', done: false, error: undefined };
  const error = kind === 'object' ? outputError(yield* errorMembers(json)) : undefined;
  return { text: error ? '' : frameEvent({ data: json }), done: false, error };
}
