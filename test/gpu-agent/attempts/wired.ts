/** The parts that carry attempts, wired as in an agent, with workers that are only promises and takes and stop polls that a test opens. */
import { join } from 'node:path';
import type { Test } from 'tap';
import { systemRandom } from '../../../core/runtime/clock.ts';
import { createLogger } from '../../../core/runtime/logger.ts';
import { buildAttempts } from '../../../gpu-agent/build-attempts.ts';
import type { LongPoll } from '../../../gpu-agent/bridge/long-poll.ts';
import { readAgentConfig } from '../../../gpu-agent/config.ts';
import type { UnitExit } from '../../../gpu-agent/executors/executor.ts';
import type { WorkerStarter } from '../../../gpu-agent/units/workers/worker-starter.ts';
import type { Worker } from '../../../gpu-agent/units/workers/worker.ts';
import { DesiredState, DesiredWorkers } from '../../../proto/gen/slipway/v1/agent_service.ts';
import type { AttemptRef } from '../../../proto/gen/slipway/v1/agent_service.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';

/** Lets everything run that waits for nothing but its turn. */
export const turn = (): Promise<void> => new Promise((resolve) => { setImmediate(resolve); });

/** Builds them. Nothing is sent: `outbox.take` shows what would be. */
export async function wired(t: Test) {
  const clock = new ManualClock();
  const exits = new Map<string, (exit: UnitExit) => void>();
  const run = (worker: Worker): Promise<UnitExit> => new Promise((resolve) => { exits.set(worker.id, resolve); });
  const folder = t.testdir({});
  const parts = buildAttempts({
    config: readAgentConfig({
      SLIPWAY_CORE_ADDRESS: '127.0.0.1:1', SLIPWAY_AGENT_KEY: 'key', SLIPWAY_AGENT_DATA_DIR: folder, SLIPWAY_WORKER_USER: 'same',
    }),
    logger: createLogger('test', 'silent'), clock, random: systemRandom,
    starter: { run, cleanUp: async () => {} } as unknown as WorkerStarter,
  });
  await parts.spool.open();
  t.teardown(() => parts.spool.close());

  /** Core wants these workers and no others: ids with their endpoints. The new ones ask for work at once. */
  const desire = (workers: Record<string, string>): void => {
    const list = Object.entries(workers).map(([workerId, endpointId]) => ({ workerId, endpointId, desired: DesiredState.RUN, spec: {} }));
    parts.pool.apply(DesiredWorkers.fromPartial({ workers: list }));
    for (const { workerId } of list) {
      const worker = parts.pool.get(workerId)!;
      worker.learnVersion('1.12.0');
      if (!worker.asked) parts.pool.ready(worker);
    }
  };
  const refOf = (jobId: string, workerId: string, attempt = 1): AttemptRef => (
    { endpointId: parts.pool.get(workerId)!.endpointId, jobId, attempt, workerId }
  );
  /** Gives a worker a job, which it takes at once. */
  const give = async (ref: AttemptRef): Promise<void> => {
    const worker = parts.pool.get(ref.workerId)!;
    worker.takes.add({ poll: poll([]), requested: 1, batch: false });
    parts.intake.assign([{ ref, input: Buffer.from('{}'), inputSize: 2, s3Config: undefined }]);
    worker.takes.clear();
    await turn();
  };
  return {
    ...parts, clock, folder: join(folder, 'spool'), desire, refOf, give,
    /** Its process ends. */
    exit: async (workerId: string, exit: Partial<UnitExit> = {}): Promise<void> => {
      exits.get(workerId)!({ code: undefined, signal: undefined, failure: undefined, ...exit });
      await turn();
    },
    /** The worker holds a stop poll open; resolves with the jobs it is told of so far. `delivered`: the answer reaches it. */
    openStopPoll: (workerId: string, delivered = true): string[] => {
      const told: string[] = [];
      const worker = parts.pool.get(workerId)!;
      const open = poll(told, delivered, () => worker.stopPolls.delete(open));
      worker.stopPolls.add(open);
      parts.stopper.deliver(worker);
      return told;
    },
  };
}

function poll(told: string[], delivered = true, onClosed = (): void => {}): LongPoll {
  const answer = async (body: Buffer): Promise<boolean> => {
    onClosed();
    if (delivered) told.push(...(JSON.parse(body.toString()) as { jobsToStop?: string[] }).jobsToStop ?? []);
    return delivered;
  };
  return { answer, empty: onClosed } as unknown as LongPoll;
}
