/** Calls of simulated clients and facades at replicas. */
import type { JobCalls } from '@slipway/core/jobs/job-engine';
import type { Send } from '../checker/history.ts';
import type { Being } from '../world/being.ts';
import type { World } from '../world/world.ts';
import type { SimReplica } from './replica.ts';

/** A replica, or a facade that asks one. */
export interface Asked {
  readonly name: string;
  readonly calls: Pick<JobCalls, 'submit' | 'submitAndWait' | 'get' | 'cancel' | 'retry'>;
  readonly isFacade?: boolean;
  onDeath(listener: () => void): void;
  onCut?(listener: () => void): void;
}

/** What a call needs. */
export interface Asking<One extends Asked = SimReplica> {
  world: World;
  /** Replicas that can be reached. */
  replicas(): readonly One[];
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

interface AskOptions<One> {
  /** The caller gives up after so many milliseconds. Default: 6 s. */
  ms?: number;
  /** Like a facade, the caller notices at once that its stream to the replica has broken. Default: false. */
  noticesCut?: boolean;
  /** Receives the replica that is asked. */
  onAsked?(replica: One): void;
  /** Receives the call, which may take effect after its caller has given up. */
  sends?: Send[];
}

/** Makes a call at some replica. */
export async function askReplica<Value, One extends Asked>(
  { world, replicas }: Asking<One>,
  call: (calls: One['calls']) => Promise<Value>,
  { ms = CALL_MS, noticesCut = false, onAsked, sends }: AskOptions<One> = {},
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
    if (noticesCut)
      replica.onCut?.(() => {
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

/** Adds a send that begins now. Returns what ends it; so does the death of its replica. That of a facade never ends. */
function addSend(sends: Send[], world: World, replica: Asked): () => void {
  const send: Send = { atMs: world.nowMs, overMs: undefined };
  sends.push(send);
  if (replica.isFacade) return () => undefined;
  const over = (): void => {
    send.overMs ??= world.nowMs;
  };
  replica.onDeath(over);
  return over;
}
