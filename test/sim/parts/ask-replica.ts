/** Calls of simulated clients and facades at replicas. */
import type { JobCalls } from '@slipway/core/jobs/job-engine';
import type { Send } from '../checker/history.ts';
import type { Being } from '../world/being.ts';
import type { World } from '../world/world.ts';
import type { SimReplica } from './replica.ts';

/** What a call needs. */
export interface Asking {
  world: World;
  /** Replicas that can be reached. */
  replicas(): readonly SimReplica[];
}

/** How a call ended. `unknown`: no answer came in time. */
export type Answer<Value> = { value: Value } | { error: Error & { reason?: string } } | 'unknown';

/** Returns whether the call has had its effect, or never will. Not every error says so. */
export function isDecided(answer: Answer<unknown>): boolean {
  if (answer === 'unknown') return false;
  return 'value' in answer || !['UNAVAILABLE', undefined].includes(answer.error.reason);
}

/** How long a caller waits for an answer, in milliseconds. */
const CALL_MS = 6_000;
/** How long a facade takes to notice that its core has died, in milliseconds. */
const NOTICE_MS = { least: 0, most: 5 };

interface AskOptions {
  /** The caller gives up after so many milliseconds. Default: 6 s. */
  ms?: number;
  /** Like a facade, the caller notices at once that the replica has died. Default: false. */
  noticesDeath?: boolean;
  /** Receives the replica that is asked. */
  onAsked?(replica: SimReplica): void;
  /** Receives the call, which may take effect after its caller has given up. */
  sends?: Send[];
}

/** Makes a call at some replica. */
export async function askReplica<Value>(
  { world, replicas }: Asking,
  call: (calls: JobCalls) => Promise<Value>,
  { ms = CALL_MS, noticesDeath = false, onAsked, sends }: AskOptions = {},
): Promise<Answer<Value>> {
  const living = replicas();
  if (living.length === 0) return 'unknown';
  const replica = world.one(living);
  onAsked?.(replica);
  const over = sends && addSend(sends, world, replica);
  return new Promise((resolve) => {
    const patience: Being = { name: 'patience', dead: false };
    const done = (answer: Answer<Value>): void => {
      patience.dead = true;
      resolve(answer);
    };
    world.after(ms, patience, () => done('unknown'));
    if (noticesDeath)
      replica.onDeath(() => {
        if (patience.dead) return;
        world.after(world.between(NOTICE_MS.least, NOTICE_MS.most), patience, () => done('unknown'));
      });
    call(replica.calls).then(
      (value) => {
        over?.();
        done({ value });
      },
      (error: Error) => done({ error }),
    );
  });
}

/** Adds a send that begins now. Returns what ends it; so does the death of its replica. */
function addSend(sends: Send[], world: World, replica: SimReplica): () => void {
  const send: Send = { atMs: world.nowMs, overMs: undefined };
  sends.push(send);
  const over = (): void => {
    send.overMs ??= world.nowMs;
  };
  replica.onDeath(over);
  return over;
}
