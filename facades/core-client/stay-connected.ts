/** Keeps a long-lived stream to core: connects, serves it to its end, and retries with backoff. */
import type { Client } from '@grpc/grpc-js';
import { backoffMs } from '@slipway/kit/time/backoff';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';
import type { CoreConnection } from './core-connection.ts';

/** Timeout of one connection attempt, in milliseconds. */
const READY_TRY_MS = LINK_TIMERS.reopenTryMs;
/** Backoff between attempts. */
const PAUSE = { firstMs: 50, maxMs: LINK_TIMERS.reopenPauseMs };
/**
 * Failed attempts in a row after which core counts as unreachable. The first one also fails in a process that is busy
 * starting.
 */
const AWAY_TRIES = 2;
/** A stream that lasted this long counts as healthy, in milliseconds. */
const HEALTHY_MS = 5_000;

interface ConnectParts {
  clock: Clock;
  random: Random;
  signal: AbortSignal;
  /** Called once when core is unreachable, and again after it was reached in between. */
  onAway?: (() => void) | undefined;
}

/**
 * Uses the connections, as they are at each attempt, round-robin until the signal aborts. `serve` uses one stream
 * until it ends and never rejects.
 */
export async function stayConnected<One extends Client>(
  lines: () => readonly CoreConnection<One>[],
  serve: (line: CoreConnection<One>) => Promise<void>,
  { clock, random, signal, onAway }: ConnectParts,
): Promise<void> {
  let failures = 0;
  let missed = 0;
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    const all = lines();
    const line = all[attempt % all.length]!;
    const startedMs = clock.monotonicMs();
    // Between the two a stop may have come, which found no stream to end.
    const isThere = await isReady(line.client, clock, signal);
    missed = isThere ? 0 : missed + 1;
    if (missed === AWAY_TRIES && !signal.aborted) onAway?.();
    if (isThere && !signal.aborted) await serve(line);
    failures = clock.monotonicMs() - startedMs > HEALTHY_MS ? 1 : failures + 1;
    if (!signal.aborted) await delay(clock, backoffMs(failures, PAUSE, random), signal);
  }
}

function isReady(client: Client, clock: Clock, signal: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const giveUp = (): void => resolve(false);
  signal.addEventListener('abort', giveUp, { once: true });
  client.waitForReady(clock.nowMs() + READY_TRY_MS, (error) => resolve(error === undefined));
  return promise.finally(() => signal.removeEventListener('abort', giveUp));
}
