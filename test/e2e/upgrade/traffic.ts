/** Requests and streams that go on while parts are replaced. */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Test } from 'tap';
import type { StreamRecord } from '../../helpers/system/endpoint-jobs.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import type { ReplaceableSystem } from './replaceable-system.ts';

/** Pause of the client of the load-balancing worker between two requests, in milliseconds. */
const REQUEST_EVERY_MS = 40;
/** Values that a stream has. Half of them are sent before a part is replaced. */
const WORDS = ['one', 'two', 'three', 'four'];

/** Sends requests to a load-balancing endpoint one after the other until it is stopped. */
export function sendRequests({ request }: ReplaceableSystem, endpointId: string) {
  let isStopped = false;
  const counts = { ok: 0, cut: 0, killed: 0 };
  const wrong: string[] = [];
  const loop = (async () => {
    while (!isStopped) {
      try {
        const answer = await request('GET', `/v2/${endpointId}/hello`);
        if (answer.status === 200) counts.ok += 1;
        // Its worker ended with the agent while it had the request.
        else if (answer.status === 502 && answer.text.includes('"worker_failed"')) counts.killed += 1;
        else wrong.push(`${answer.status} ${answer.text.slice(0, 200)}`);
      } catch {
        // The connection was killed.
        counts.cut += 1;
      }
      await delay(REQUEST_EVERY_MS);
    }
  })();
  return {
    counts,
    wrong,
    /** Resolves when the last request has ended. */
    stop: async (): Promise<void> => {
      isStopped = true;
      await loop;
    },
  };
}

/** Starts a job that streams, and reads its first half. `finish` lets the rest come and checks all of it. */
export async function startStream(t: Test, { folder, request }: ReplaceableSystem, endpointId: string) {
  const gate = await mkdtemp(join(folder, 'stream-'));
  const release = async (from: number, to: number): Promise<void> => {
    for (let word = from; word <= to; word += 1) await writeFile(join(gate, String(word)), '');
  };
  const { id } = await waitFor('the stream to be accepted', async () => {
    const answer = await request('POST', `/v2/${endpointId}/run`, { input: { words: WORDS, gate } });
    return answer.status === 200 ? answer.json : undefined;
  });
  const words: unknown[] = [];
  const read = async (): Promise<string> => {
    const answer = await request('POST', `/v2/${endpointId}/stream/${id}`);
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
    const { status, stream } = answer.json as unknown as StreamRecord;
    words.push(...stream.map(({ output }) => output));
    return status;
  };
  const half = WORDS.length / 2;
  await release(1, half);
  await waitFor('half of the stream', async () => {
    await read();
    return words.length === half;
  });
  return {
    finish: async (what: string): Promise<void> => {
      await release(half + 1, WORDS.length);
      await waitFor('the end of the stream', async () => (await read()) === 'COMPLETED');
      await read();
      // A worker that was lost leaves the beginning of its stream; the next attempt streams all of it.
      const lost = words.slice(0, -WORDS.length);
      t.same(words.slice(-WORDS.length), WORDS, `a stream is whole: ${what}`);
      t.same(lost, WORDS.slice(0, lost.length), `and nothing else came before it: ${what}`);
      if (what !== 'agent-1') t.same(lost, [], `nor was it repeated: ${what}`);
    },
  };
}
