/**
 * Calls for tests of limits: operations that are rejected quickly, on endpoints and by accounts without earlier
 * requests.
 */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import type { Test } from 'tap';
import { call } from '../grpc/grpc-clients.ts';
import { flood, requestText } from '../net/raw-http.ts';
import type { EndpointJobs } from '../system/endpoint-jobs.ts';
import { endpointJobs } from '../system/endpoint-jobs.ts';
import { jsHandler } from '../system/handlers.ts';
import type { Answer, System } from '../system/system.ts';

/** An invalid job id. The facade itself rejects it, so all requests of a test fit well into one window. */
export const NO_JOB = 'none.';

/** An operation to flood: method, path below the endpoint, body. */
export type Operation = readonly [method: string, path: string, body?: string];

/** Operations that are answered quickly with a rejection. Invalid requests count towards limits like all others. */
export const OPERATIONS = {
  runsync: ['POST', '/runsync', '{"input":[]}'],
  run: ['POST', '/run', '{"input":[]}'],
  status: ['GET', `/status/${NO_JOB}`],
  statusSync: ['GET', `/status-sync/${NO_JOB}`],
  stream: ['GET', `/stream/${NO_JOB}`],
  cancel: ['POST', `/cancel/${NO_JOB}`],
  retry: ['POST', `/retry/${NO_JOB}`],
  purge: ['POST', '/purge-queue'],
  openai: ['POST', '/openai/v1/chat/completions', '[]'],
  requests: ['GET', '/requests'],
} as const satisfies Record<string, Operation>;

const WINDOW_MS = 10_000;

/**
 * Returns what `ask` saw within one window of the limits. `ask` must use a new account or endpoint each time: if a busy
 * machine takes longer than a window, it is called again.
 */
export async function withinWindow<Seen>(t: Test, ask: () => Promise<Seen>): Promise<Seen> {
  for (;;) {
    const before = performance.now();
    const seen = await ask();
    const tookMs = Math.round(performance.now() - before);
    if (tookMs < WINDOW_MS) return seen;
    t.comment(`${tookMs} ms is longer than a window`);
  }
}

/** Returns these calls for a system. */
export function limitedCalls(system: System) {
  /** Creates an endpoint without workers and requests, so that each case has a new count. */
  const freshEndpoint = async (): Promise<EndpointJobs> =>
    endpointJobs(
      system,
      await system.createEndpoint({ command: jsHandler('all.js'), fields: { workersMin: 0 }, workersMax: 0 }),
    );

  const send = (jobs: EndpointJobs, [method, path, body]: Operation, key = system.key): Promise<Answer> =>
    jobs.call(method, path, body, { authorization: `Bearer ${key}` });

  /** Sends an operation `count` times at once. Returns how many were rejected by a limit and how many were not. */
  async function sendMany(
    jobs: EndpointJobs,
    [method, path, body = '']: Operation,
    count: number,
    key = system.key,
  ): Promise<[passed: number, refused: number]> {
    const headers = { authorization: `Bearer ${key}`, connection: 'keep-alive' };
    // Few connections, so that no limit of concurrency is reached.
    const connections = count > 100 ? 8 : 1;
    const statuses = await flood(
      system.url,
      requestText(method, jobs.base + path, headers, Buffer.from(body)),
      count,
      connections,
    );
    const refused = statuses.get(429) ?? 0;
    return [[...statuses.values()].reduce((sum, number) => sum + number, 0) - refused, refused];
  }

  /** Returns what `ask` saw of a fresh endpoint within one window. */
  const inOneWindow = <Seen>(t: Test, ask: (jobs: EndpointJobs) => Promise<Seen>): Promise<Seen> =>
    withinWindow(t, async () => ask(await freshEndpoint()));

  /** Checks that the `base` requests of a window pass and that the next is rejected. */
  async function checkRate(t: Test, operation: Operation, base: number): Promise<void> {
    const { first, next } = await inOneWindow(t, async (jobs) => ({
      first: await sendMany(jobs, operation, base),
      next: await send(jobs, operation),
    }));
    t.same(first, [base, 0], `${base} requests pass`);
    t.equal(next.status, 429, 'one more does not');
    t.match(next.text, /"code":"rate_limited"/);
    const retryAfter = Number(next.headers.get('retry-after'));
    t.ok(Number.isInteger(retryAfter) && retryAfter >= 1 && retryAfter <= 10, `Retry-After: ${retryAfter}`);
  }

  return {
    freshEndpoint,
    send,
    sendMany,
    inOneWindow,
    checkRate,
    /** Creates a key of an account without requests. */
    freshAccount: async (name: string): Promise<string> => {
      const { accountId } = await call(system.clients.access, 'createAccount', { name }, system.rootKey);
      return (
        await call(
          system.clients.keys,
          'createKey',
          {
            name,
            scope: KeyScope.ALL,
            endpointIds: [],
            accountId,
            permissions: undefined,
          },
          system.rootKey,
        )
      ).secret;
    },
  };
}
