/** Submits jobs of a soak, follows them to their end, and checks the answers. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Answer, PublicJson } from '@slipway/test/helpers/system/public-api';
import type { Ledger } from './ledger.ts';
import type { SoakSystem } from './soak-system.ts';

const POLL_MS = 300;
const WAIT_MS = 60_000;
export const FINAL: readonly string[] = ['COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT'];

export type JobClient = ReturnType<typeof jobClient>;

/** Returns calls that record every accepted job and its end in the ledger. */
export function jobClient({ ids, send }: SoakSystem, ledger: Ledger) {
  const base = `/v2/${ids.js}`;

  /** Submits with /runsync, checks the status, and returns the answer. */
  const runSync = async (kind: string, id: string, input: object, wanted = 'COMPLETED'): Promise<PublicJson> => {
    const answer = await send('POST', `/v2/${id}/runsync?wait=${WAIT_MS}`, { input });
    requireStatus(answer, 200);
    ledger.accepted(answer.json.id, id, kind);
    if (!FINAL.includes(answer.json.status)) throw new Error(`no end within ${WAIT_MS} ms: ${answer.text}`);
    ledger.ended(answer.json.id, answer.json.status);
    if (answer.json.status !== wanted) throw new Error(`not ${wanted}: ${answer.text.slice(0, 200)}`);
    return answer.json;
  };
  const run = async (kind: string, body: object, headers: Record<string, string> = {}): Promise<string> => {
    const answer = await send('POST', `${base}/run`, body, headers);
    requireStatus(answer, 200);
    ledger.accepted(answer.json.id, ids.js, kind);
    return answer.json.id;
  };
  /** Polls until the job has ended. */
  const poll = async (id: string): Promise<PublicJson> => {
    for (const endMs = performance.now() + WAIT_MS; performance.now() < endMs; await delay(POLL_MS)) {
      const answer = await send('GET', `${base}/status/${id}`);
      requireStatus(answer, 200);
      if (FINAL.includes(answer.json.status)) {
        ledger.ended(id, answer.json.status);
        return answer.json;
      }
    }
    throw new Error(`job ${id} did not end within ${WAIT_MS} ms`);
  };

  return { base, runSync, run, poll };
}

/** Throws unless the status is the wanted one. */
export function requireStatus(answer: Answer, wanted: number): void {
  if (answer.status !== wanted) throw new Error(`${answer.status} instead of ${wanted}: ${answer.text.slice(0, 300)}`);
}

/** Throws unless both have the same JSON. */
export function requireEqual(found: unknown, wanted: unknown): void {
  const [left, right] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (left !== right) throw new Error(`${left?.slice(0, 200)} instead of ${right.slice(0, 200)}`);
}
