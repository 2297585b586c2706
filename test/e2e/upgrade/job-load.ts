/** Jobs that come in at an even pace while parts are replaced, each of which must have one outcome: its own. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Test } from 'tap';
import { waitFor } from '../../helpers/time/wait-for.ts';
import type { ReplaceableSystem } from './replaceable-system.ts';

/** Jobs a second that are due. Fewer are sent while OPEN_MAX wait for their response. */
const PACE = 50;
const OPEN_MAX = 60;
const TICK_MS = 20;
const AGAIN_MS = 100;
const ENDED_MS_MAX = 120_000;

export type JobLoad = Awaited<ReturnType<typeof sendJobs>>;

/** Submits short jobs to an endpoint of its own until it is stopped. */
export async function sendJobs(system: ReplaceableSystem) {
  const { folder, request, sql } = system;
  const [gate, notes] = [join(folder, 'load-gate'), join(folder, 'load-notes')];
  await writeFile(gate, '');
  const command = system.handler('in-flight.js');
  const endpointId = await system.createEndpoint({
    command,
    workersMax: 1,
    fields: { workersMin: 1 },
    retryLimit: 5,
  });
  const acknowledged = new Map<string, number>();
  const wrong: string[] = [];
  let cut = 0;
  let isStopped = false;
  let mayCut = false;

  /**
   * Submits a job again, by the same Idempotency-Key, when its connection was killed, or the queue is full: on a slow
   * machine more jobs wait than may while the agent is replaced.
   */
  const submit = async (number: number): Promise<void> => {
    const headers = { 'idempotency-key': `load-${number}` };
    const body = { input: { number, gate, notes, ms: 0 } };
    for (;;) {
      const answer = await request('POST', `/v2/${endpointId}/run`, body, headers).catch(() => undefined);
      if (answer?.status === 200) return void acknowledged.set(answer.json.id, number);
      const isFull = answer?.json?.code === 'queue_full';
      if (answer && !isFull && !(mayCut && answer.status === 503))
        return void wrong.push(`${answer.status} ${answer.text.slice(0, 200)}`);
      if (!isFull) cut += 1;
      await delay(AGAIN_MS);
    }
  };
  const startedMs = performance.now();
  const loop = (async () => {
    const open = new Set<Promise<void>>();
    for (let number = 0; !isStopped; await delay(TICK_MS)) {
      const dueMs = performance.now() - startedMs;
      for (; number < (dueMs * PACE) / 1_000 && open.size < OPEN_MAX; number += 1) {
        const one: Promise<void> = submit(number).finally(() => open.delete(one));
        open.add(one);
      }
    }
    await Promise.all(open);
  })();
  return {
    endpointId,
    wrong,
    /**
     * Whether a connection between edge and facade may be cut now, which the edge answers with 503: facades up to
     * PREVIOUS_COMMIT close their connections when they stop, whatever is on its way.
     */
    allowCuts: (may: boolean): void => {
      mayCut = may;
    },
    /** Resolves when the last job has been acknowledged. */
    stop: async (): Promise<void> => {
      isStopped = true;
      await loop;
    },
    /** Waits until all jobs have ended, and compares what is stored with what was acknowledged. */
    check: async (t: Test): Promise<void> => {
      const seconds = (performance.now() - startedMs) / 1_000;
      const pace = (acknowledged.size / seconds).toFixed(1);
      t.comment(`load: ${acknowledged.size} jobs, ${pace} a second; ${cut} connections were cut`);
      await waitFor(
        'the jobs of the load to end',
        async () => {
          const [row] = await sql<{ n: number }[]>`
            SELECT count(*)::int AS n FROM job WHERE endpoint_id = ${endpointId} AND finished_at IS NULL`;
          return row!.n === 0;
        },
        ENDED_MS_MAX,
      );
      const stored = await sql<{ id: string; state: string; output: Buffer | null }[]>`
        SELECT id, state, output
        FROM job LEFT JOIN job_output ON job_output.endpoint_id = job.endpoint_id AND job_id = id
        WHERE job.endpoint_id = ${endpointId}`;
      const others = stored.filter(({ id, state, output }) => {
        const number = acknowledged.get(id);
        return state !== 'COMPLETED' || !output || number !== (JSON.parse(String(output)) as { number: number }).number;
      });
      t.same(others, [], 'each job of the load has its own outcome');
      t.equal(stored.length, acknowledged.size, 'and none is there twice');
    },
  };
}
