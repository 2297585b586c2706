/** One wrong request with the answer it must get, and short ways to write many. */

/** One wrong request. */
export interface BadRequest {
  name: string;
  method?: string;
  path?: string;
  /** Over `authorization` and a correct `content-length`. */
  headers?: Record<string, string>;
  /** Text is sent as UTF-8. */
  body?: string | Uint8Array | (() => Uint8Array);
  status: number;
  code: string;
}

/**
 * Different answers, by the case's name, where a proxy before the facade rejects the request. Empty without a proxy.
 */
export const OTHERWISE = new Map<string, Pick<BadRequest, 'status'> & { code: string | undefined }>();

export const MIB = 1024 * 1024;
export const RUN = '/v2/{endpoint}/run';

/** Makes a request of each named value. */
export function named<Case>(
  list: [name: string, value: Case][],
  make: (value: Case) => Omit<BadRequest, 'name'>,
): BadRequest[] {
  return list.map(([name, value]) => ({ name, ...make(value) }));
}

/** Returns the answer 400 with this code. */
export const invalid = (code: string) => ({ status: 400, code });
