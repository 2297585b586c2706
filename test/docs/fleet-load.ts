/** Jobs that come in by HTTPS at an even pace while machines come and go, each of which must end once. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import type { Test } from 'tap';
import { waitFor } from '../helpers/time/wait-for.ts';

/** Jobs a second that are due. Fewer are sent while OPEN_MAX wait for their response. */
const PACE = 10;
const OPEN_MAX = 20;
const TICK_MS = 50;
/** One job of these runs for LONG_MS, the others for SHORT_MS. */
const LONG_OF = 10;
const LONG_MS = 3_000;
const SHORT_MS = 50;

export interface LoadPlace {
  url: string;
  /** Certificate that the clients trust. */
  ca: string;
  key: string;
  endpointId: string;
  /** File that jobs wait for, and the file in which each run leaves a line (test/handlers/in-flight.js). */
  gate: string;
  notes: string;
  /** Returns the rows of a query, each as JSON. */
  query(sql: string): Promise<Record<string, unknown>[]>;
}

interface Answer {
  status: number;
  text: string;
}

/** Sends requests to the edge as a client elsewhere does. */
export function httpsClient({ url, ca, key }: Pick<LoadPlace, 'url' | 'ca' | 'key'>) {
  const agent = new Agent({ ca, keepAlive: true, maxSockets: OPEN_MAX });
  const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const all = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers };
      const sent = request(url + path, { method: 'POST', agent, headers: all }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        response.on('end', () => resolve({ status: response.statusCode!, text })).on('error', reject);
      });
      sent.on('error', reject).end(JSON.stringify(body));
    });
  return { post, close: () => agent.destroy() };
}

/** Submits jobs until it is stopped. */
export function startLoad(place: LoadPlace) {
  const { endpointId, gate, notes, query } = place;
  const client = httpsClient(place);
  const acknowledged = new Map<string, number>();
  const wrong: string[] = [];
  let isStopped = false;

  const submit = async (number: number): Promise<void> => {
    const ms = number % LONG_OF === 0 ? LONG_MS : SHORT_MS;
    const key = { 'idempotency-key': `load-${number}` };
    const { status, text } = await client.post(`/v2/${endpointId}/run`, { input: { number, gate, notes, ms } }, key);
    if (status === 200) acknowledged.set((JSON.parse(text) as { id: string }).id, number);
    else wrong.push(`${status} ${text.slice(0, 200)}`);
  };
  const loop = (async () => {
    const startedMs = performance.now();
    const open = new Set<Promise<void>>();
    for (let number = 0; !isStopped; await delay(TICK_MS)) {
      const dueMs = performance.now() - startedMs;
      for (; number < (dueMs * PACE) / 1_000 && open.size < OPEN_MAX; number += 1) {
        const one: Promise<void> = submit(number)
          .catch((error: Error) => void wrong.push(error.message))
          .finally(() => open.delete(one));
        open.add(one);
      }
    }
    await Promise.all(open);
  })();
  const countEnded = async (): Promise<number> => {
    const [row] = await query(
      `SELECT count(*) AS n FROM job WHERE endpoint_id = '${endpointId}' AND finished_at IS NOT NULL`,
    );
    return Number(row!['n']);
  };

  return {
    /** Resolves when `count` more jobs have ended. */
    moreToEnd: async (count: number): Promise<void> => {
      const before = await countEnded();
      await waitFor('more jobs to end', async () => (await countEnded()) >= before + count);
    },
    /** Stops it, waits until all jobs have ended, and compares what is stored with what was acknowledged. */
    check: async (t: Test): Promise<void> => {
      isStopped = true;
      await loop;
      client.close();
      await waitFor('all jobs to end', async () => (await countEnded()) >= acknowledged.size);
      const stored = await query(`
        SELECT id, state, convert_from(output, 'UTF8') AS output
        FROM job LEFT JOIN job_output ON job_output.endpoint_id = job.endpoint_id AND job_id = id
        WHERE job.endpoint_id = '${endpointId}'`);
      const marks = new Set<string>();
      const others = stored.filter(({ id, state, output }) => {
        const { number, mark } = JSON.parse(String(output ?? '{}')) as { number?: number; mark?: string };
        marks.add(mark!);
        return state !== 'COMPLETED' || number !== acknowledged.get(String(id));
      });
      const runs = readFileSync(notes, 'utf8').split('\n').length - 1;
      t.comment(`${acknowledged.size} jobs; ${runs - stored.length} runs more, of machines that were cut off`);
      t.same(wrong, [], 'no request failed');
      t.same(others, [], 'each job has its own outcome');
      t.equal(marks.size, stored.length, 'of a run of its own');
      t.equal(stored.length, acknowledged.size, 'none is there twice, and none is missing');
    },
  };
}
