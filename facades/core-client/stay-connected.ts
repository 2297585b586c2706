/** Keeps a long-lived stream to core: waits for a connection, serves it to its end, pauses a little longer after each failure, tries again. */
import type { Client } from '@grpc/grpc-js';
import { backoffMs } from '../../core/runtime/backoff.ts';
import { delay } from '../../core/runtime/clock.ts';
import { LINK_TIMERS } from '../../proto/wire/link-timers.ts';
import type { Clock, Random } from '../../core/runtime/clock.ts';
import type { CoreConnection } from './core-connection.ts';

/** How long one try to reach core may take, in milliseconds. */
const READY_TRY_MS = LINK_TIMERS.reopenTryMs;
/** Pause between tries. */
const PAUSE = { firstMs: 50, maxMs: LINK_TIMERS.reopenPauseMs };
/** Tries in a row that fail before core counts as away: the first one also fails in a process that is busy with its own start. */
const AWAY_TRIES = 2;
/** A stream that lasted this long, in milliseconds, was no failure. */
const HEALTHY_MS = 5_000;

/** What it needs. */
interface ConnectParts {
  clock: Clock;
  random: Random;
  signal: AbortSignal;
  /** Core could not be reached in two tries: told once, and again when it was reached in between. */
  onAway?: (() => void) | undefined;
}

/** Uses the lines in turn until the signal. `serve` uses one stream until it ends; it never rejects. */
export async function stayConnected<One extends Client>(
  lines: readonly CoreConnection<One>[], serve: (line: CoreConnection<One>) => Promise<void>, { clock, random, signal, onAway }: ConnectParts,
): Promise<void> {
  let failures = 0;
  let missed = 0;
  for (let turn = 0; !signal.aborted; turn += 1) {
    const line = lines[turn % lines.length]!;
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
