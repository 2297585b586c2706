/** REST v1, REST v2 and GraphQL of a test system, each of which fails unless it is answered as wanted. */
import assert from 'node:assert/strict';
import type { Answer, PublicJson } from '../../helpers/system/public-api.ts';
import type { System } from '../../helpers/system/system.ts';

/** An answer. A test that reads a member asserts that it is there. */
export type Json = PublicJson & {
  env: object;
  templateId: string;
  gpu: object;
  pods: unknown[];
  args: string;
  cmd: string[];
  entrypoint: string[];
};
/** Returns the body of an answer with this status. */
export const ok = (wanted: number, { status, text, json }: Answer): Json => {
  assert.equal(status, wanted, text.slice(0, 400));
  return json as unknown as Json;
};

/** Returns one function for each surface. */
export function surfacesOf({ request }: Pick<System, 'request'>) {
  const v1 = async (method: string, path: string, body?: unknown, wanted = method === 'DELETE' ? 204 : 200) =>
    ok(wanted, await request(method, `/v1${path}`, body));
  const v2 = async (method: string, path: string, body?: unknown, wanted = { POST: 201, DELETE: 204 }[method] ?? 200) =>
    ok(wanted, await request(method, `/v2${path}`, body));
  const graphql = async (query: string): Promise<Json> => {
    const answer = ok(200, await request('POST', '/graphql', { query }));
    assert.equal(answer['errors'], undefined, JSON.stringify(answer['errors']));
    return answer['data'] as Json;
  };
  return { v1, v2, graphql };
}
