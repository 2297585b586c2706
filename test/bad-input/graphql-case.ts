/** A GraphQL request that is rejected, and how. */

/** One wrong request: a document, or a whole body. */
export interface BadGraphql {
  name: string;
  /** Default POST. */
  method?: string;
  /** Default /graphql. */
  path?: string;
  /** Over `authorization` and the content type. */
  headers?: Record<string, string>;
  query?: string;
  variables?: unknown;
  /** In place of query and variables. */
  body?: string | Uint8Array;
  status: number;
  /** `extensions.code` of the first error. */
  code: string;
  /** `extensions.reason` of the first error. */
  reason?: string;
}

type Expected = Pick<BadGraphql, 'status' | 'code' | 'reason'>;

export const MIB = 1024 * 1024;
export const UNREADABLE: Expected = { status: 400, code: 'INVALID_REQUEST' };
export const INVALID: Expected = { status: 400, code: 'GRAPHQL_VALIDATION_FAILED' };
export const VARIABLES: Expected = { status: 400, code: 'BAD_USER_INPUT' };
export const KEY: Expected = { status: 401, code: 'UNAUTHORIZED' };
export const refusedWith = (reason: string): Expected => ({ status: 200, code: 'RUNPOD', reason });

export function named<Case>(
  list: [name: string, value: Case][],
  expected: Expected,
  make: (value: Case) => Partial<BadGraphql>,
): BadGraphql[] {
  return list.map(([name, value]) => ({ name, ...expected, ...make(value) }));
}
