/** Jobs of Python workers in containers during `npm run chaos`, and their checks. */
import { join } from 'node:path';
import type { Test } from 'tap';
import type { TestPodman } from '../../helpers/engines/podman-images.ts';
import { makeWorkerImage } from '../../helpers/engines/podman-images.ts';
import { webhookReceiver } from '../../helpers/net/webhook-receiver.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { PYTHONS } from '../../helpers/system/handlers.ts';
import type { Processes } from '../../helpers/system/processes.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const IMAGE = 'localhost/mark:1';
const WORKERS = 2;
const PAUSE_SECONDS = 0.2;
const ENDED_MS_MAX = 180_000;

/** Output of handlers/mark.py. */
interface Output {
  number: number;
  mark: string;
}

export type ContainerJobs = Awaited<ReturnType<typeof startContainerJobs>>;

/** Makes the image and an endpoint with it. */
export async function startContainerJobs(t: Test, slipway: Processes, podman: TestPodman) {
  await makeWorkerImage(podman, PYTHONS.new, join(import.meta.dirname, '../../handlers/mark.py'), IMAGE);
  const id = await slipway.createEndpoint({
    ...{ command: [], imageName: IMAGE, workersMax: WORKERS, retryLimit: 10 },
    fields: { workersMin: WORKERS },
  });
  const receiver = await webhookReceiver(t);
  const jobs = endpointJobs(slipway, id);
  const ids: string[] = [];
  const submitOne = async (number: number): Promise<void> => {
    const body = { input: { number, pause: PAUSE_SECONDS }, webhook: receiver.url(`container-${number}`) };
    ids[number] = await waitFor(
      `container job ${number} to be accepted`,
      async () => {
        const answer = await slipway.request('POST', `/v2/${id}/run`, body, { 'idempotency-key': `${id}-${number}` });
        if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
        return answer.json.id;
      },
      ENDED_MS_MAX,
    );
  };
  return {
    /** Submits each job until it is acknowledged. */
    submit: async (count: number): Promise<void> => {
      const from = ids.length;
      await Promise.all(Array.from({ length: count }, (_, place) => submitOne(from + place)));
    },
    /** Checks that each job has one outcome, its own, and that no container is left. */
    check: async (t: Test): Promise<void> => {
      const wrong: unknown[] = [];
      for (const [number, jobId] of ids.entries()) {
        const job = await waitFor(
          `container job ${number} to end`,
          async () => {
            const found = await jobs.look(jobId);
            return /COMPLETED|FAILED|TIMED_OUT/.test(found.status) && found;
          },
          ENDED_MS_MAX,
        );
        const output = job.output as Output | undefined;
        if (job.status !== 'COMPLETED' || output?.number !== number) wrong.push(job);
        await slipway.sql`UPDATE webhook_delivery SET due_at = now()`;
        await receiver.received(`container-${number}`);
        for (const { body } of receiver.calls(`container-${number}`))
          if ((JSON.parse(body) as { output: Output }).output.mark !== output?.mark) wrong.push(body);
      }
      t.same(wrong, [], `all ${ids.length} jobs of containers are COMPLETED, and no webhook reported another output`);
      const { jobs: counts } = await jobs.counted({ inProgress: 0, inQueue: 0 });
      t.match(counts, { completed: ids.length, failed: 0 }, 'each has one outcome');
      const closed = await slipway.request('PATCH', `/v1/endpoints/${id}`, { workersMin: 0, workersMax: 0 });
      t.equal(closed.status, 200);
      await waitFor(
        'all containers to end',
        async () => (await podman.cli('ps', '--quiet')).trim() === '',
        ENDED_MS_MAX,
      );
      t.pass('no container is left');
    },
  };
}
