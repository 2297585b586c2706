/**
 * Chooses the shape of /stream responses (docs/reference/api.md#stream): the documented array, or the object that
 * SDKs read.
 */
import { CoreError } from '@slipway/proto/wire/reason';
import type { StreamShapeSetting } from '../config.ts';

/** Array of chunks, or object with `status` and `stream`. */
export type StreamShape = 'array' | 'object';

/** Inputs of the choice. */
interface StreamShapeSigns {
  /** Query parameter `format`. */
  format: unknown;
  /** The operator's setting. */
  setting: StreamShapeSetting;
  /** HTTP method. Only SDKs use POST here. */
  method: string;
  /**
   * Content type that the request claims to have. All SDKs send a JSON one even without a body; plain curl sends none.
   */
  contentType: string;
}

/** Chooses by the request, then by the setting of the operator, then by the kind of client. Throws INVALID_REQUEST. */
export function chooseStreamShape({ format, setting, method, contentType }: StreamShapeSigns): StreamShape {
  if (format === 'array' || format === 'object') return format;
  if (format !== undefined && format !== '')
    throw new CoreError('INVALID_REQUEST', '"format" must be array or object.');
  if (setting === 'seed') return 'array';
  if (setting === 'sdk') return 'object';
  if (method === 'POST') return 'object';
  return /^application\/(?:[\w.+-]+\+)?json\b/i.test(contentType.trim()) ? 'object' : 'array';
}

/** Returns whether the client asks for server-sent events. */
export function wantsEvents(accept: string | undefined): boolean {
  return accept !== undefined && /(?:^|[\s,])text\/event-stream\b/i.test(accept);
}
