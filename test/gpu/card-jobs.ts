/** Jobs of endpoints that share a card: many at once, each with a number that its output repeats. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EndpointJobs } from '../helpers/system/endpoint-jobs.ts';
import type { Processes } from '../helpers/system/processes.ts';
import { PATIENCE_MS, waitFor } from '../helpers/time/wait-for.ts';

/** Longest wait for one job: others of its endpoint, and the turns of other endpoints, go first. */
const JOB_MS = 2 * PATIENCE_MS;

/** Output of test/handlers/gpu.py. */
interface CardOutput {
  number: number;
  pid: number;
  mib: number;
}

/** A finished job. */
export interface CardJob extends CardOutput {
  /** Index of its endpoint. */
  endpoint: number;
}

export type CardJobs = Awaited<ReturnType<typeof cardJobs>>;

/** Returns the jobs of these endpoints. `folder`: where workers write what they ran. */
export async function cardJobs(slipway: Processes, endpoints: readonly EndpointJobs[], folder = slipway.folder) {
  const notes = join(folder, 'notes');
  await writeFile(notes, '');
  let last = 0;

  /** Submits until core acknowledges, as a careful client does. Returns the number and the id. */
  const submit = async (endpoint: number, more: object = {}): Promise<{ number: number; id: string }> => {
    last += 1;
    const number = last;
    const { base } = endpoints[endpoint]!;
    const id = await waitFor(
      `job ${number} to be accepted`,
      async () => {
        const headers = { 'idempotency-key': `job-${number}` };
        const answer = await slipway.request('POST', `${base}/run`, { input: { number, notes, ...more } }, headers);
        if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
        return answer.json.id;
      },
      JOB_MS,
    );
    return { number, id };
  };

  /** Waits until a job is completed. */
  const finished = async (endpoint: number, { number, id }: { number: number; id: string }): Promise<CardJob> => {
    // One request that waits costs less than many that ask. It fails while core is away.
    const { status, output } = await waitFor(
      `job ${number} to end`,
      () => endpoints[endpoint]!.settled(id, PATIENCE_MS),
      JOB_MS,
    );
    if (status !== 'COMPLETED') throw new Error(`job ${number} is ${status}`);
    const served = output as unknown as CardOutput;
    if (served.number !== number) throw new Error(`job ${number} has the output of job ${served.number}`);
    return { ...served, endpoint };
  };

  return {
    submit,
    finished,
    /** Runs one job. */
    run: async (endpoint: number, more: object = {}): Promise<CardJob> =>
      finished(endpoint, await submit(endpoint, more)),
    /**
     * Keeps so many jobs in flight until `count` are submitted, and waits for all. `next`: chooses the endpoint of a
     * job.
     */
    runMany: async (
      count: number,
      { inFlight, next, more }: { inFlight: number; next: () => number; more?: object },
    ): Promise<CardJob[]> => {
      const done: CardJob[] = [];
      let left = count;
      const client = async (): Promise<void> => {
        while (left > 0) {
          left -= 1;
          const endpoint = next();
          done.push(await finished(endpoint, await submit(endpoint, more)));
        }
      };
      await Promise.all(Array.from({ length: inFlight }, client));
      return done;
    },
    /** Returns how often each number ran. */
    executions: async (): Promise<Map<number, number>> => {
      const numbers = (await readFile(notes, 'utf8'))
        .split('\n')
        .filter((line) => line !== '')
        .map(Number);
      return new Map([...Map.groupBy(numbers, (number) => number)].map(([number, all]) => [number, all.length]));
    },
  };
}
