/**
 * Authenticates calls: the caller is the worker named in the address, proven by the token in it. The Authorization
 * header may be anything (docs/reference/worker-protocol.md#routes).
 */
import { timingSafeEqual } from 'node:crypto';
import { delay } from '@slipway/kit/time/clock';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { versionFromUserAgent } from '../workloads/workers/sdk-traits.ts';
import type { Worker } from '../workloads/workers/worker.ts';
import type { BridgeParts } from './bridge-parts.ts';

/** Parameters in the addresses of worker-env.ts. */
export interface CallParams {
  token: string;
  worker: string;
  job?: string;
}

/**
 * Bounds of the pause before an answer that has no effect, in milliseconds: some SDKs ask again at once
 * (docs/reference/worker-protocol.md#routes).
 */
const PAUSE_MS_MIN = 1_000;
const PAUSE_MS_MAX = 5_000;

/**
 * Returns the calling worker, or why there is none: `gone` if it ended or never existed, `refused` for a wrong token.
 */
export function workerOfCall(parts: BridgeParts, request: FastifyRequest): Worker | 'gone' | 'refused' {
  return workerOf(parts, request.params as CallParams, request.headers['user-agent']);
}

/** Returns the worker of a call that is not a request of the routes, or why it is rejected. */
export function workerOf(
  parts: Pick<BridgeParts, 'pool' | 'reporter'>,
  call: Pick<CallParams, 'token' | 'worker'>,
  userAgent: string | undefined,
): Worker | 'gone' | 'refused' {
  const worker = parts.pool.get(call.worker);
  if (!worker || worker.hasEnded) return 'gone';
  if (!isToken(call.token, worker)) return 'refused';
  if (worker.sdk.setVersion(versionFromUserAgent(userAgent))) parts.reporter.changed(worker);
  return worker;
}

/** Returns true if the token in an address is the worker's. */
export function isToken(token: string, worker: Worker): boolean {
  const given = Buffer.from(token);
  const expected = Buffer.from(worker.token);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Ends an unauthenticated call after a pause: 404 for a worker that is gone, 401 for a wrong token. */
export async function answerNobody(
  parts: BridgeParts,
  reply: FastifyReply,
  who: 'gone' | 'refused',
): Promise<FastifyReply> {
  await delay(parts.clock, PAUSE_MS_MIN + parts.random.fraction() * (PAUSE_MS_MAX - PAUSE_MS_MIN), parts.stopping);
  return reply.code(who === 'gone' ? 404 : 401).send();
}

/** Returns a query parameter, the first of its name; empty if it is absent. */
export function queryText(request: FastifyRequest, name: string): string {
  const value = (request.query as Record<string, string | string[] | undefined>)[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}

/** Returns a whole number of at least 1 from the query, capped at `max`; `undefined` if it is not one. */
export function queryCount(request: FastifyRequest, name: string, max: number): number | undefined {
  const value = Number(queryText(request, name) || Number.NaN);
  return Number.isSafeInteger(value) && value >= 1 ? Math.min(value, max) : undefined;
}
