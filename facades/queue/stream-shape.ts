/** Which of its two shapes /stream answers with (docs/reference/api.md#stream): the array of the public documents, or the object that every SDK reads. */
import { CoreError } from '../../proto/wire/reason.ts';
import type { StreamShapeSetting } from '../config.ts';

/** Array of chunks, or object with `status` and `stream`. */
export type StreamShape = 'array' | 'object';

/** What the choice looks at. */
export interface StreamShapeSigns {
  /** Query parameter `format`. */
  format: unknown;
  /** The operator's setting. */
  setting: StreamShapeSetting;
  /** HTTP method. Only SDKs use POST here. */
  method: string;
  /** Content type that the request claims to have. All SDKs send a JSON one even without a body; plain curl sends none. */
  contentType: string;
}

/** The request's own word wins, then the operator's, then what kind of client it looks like. Throws INVALID_REQUEST. */
export function chooseStreamShape({ format, setting, method, contentType }: StreamShapeSigns): StreamShape {
  if (format === 'array' || format === 'object') return format;
  if (format !== undefined && format !== '') throw new CoreError('INVALID_REQUEST', '"format" must be array or object.');
  if (setting === 'seed') return 'array';
  if (setting === 'sdk') return 'object';
  if (method === 'POST') return 'object';
  return /^application\/(?:[\w.+-]+\+)?json\b/i.test(contentType.trim()) ? 'object' : 'array';
}

/** The client asks for server-sent events. */
export function wantsEvents(accept: string | undefined): boolean {
  return accept !== undefined && /(?:^|[\s,])text\/event-stream\b/i.test(accept);
}
