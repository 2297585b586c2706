/** Planted bugs of jobs that run before they are stored. */
import type { PlantedBug } from './planted-bug.ts';
import { bug } from './planted-bug.ts';

export const PLANTED_IN_EARLY_RUNS: readonly PlantedBug[] = [
  bug(
    'early run acknowledged before its commit',
    10,
    'core/jobs/record/end-early-runs.ts',
    "if (this.#batcher.waiting < WAITING_MAX) run.step = 'ending';",
    `run.step = 'ending';
    run.answer.resolve({ id: run.job.id, endpointId: run.job.endpointId, state: 'COMPLETED', output: entry.output,
      error: undefined, attempt: 1, retries: 0, workerId: run.slot.workerId, submittedAtMs: 0, finishedAtMs: 0,
      delayMs: 0, executionMs: 0 });`,
  ),
  bug(
    'submission that is sent again runs early',
    10,
    'core/jobs/submit/prepare-job.ts',
    "submission.isFirstSend === true && kind === 'SYNC'",
    "kind === 'SYNC'",
  ),
  bug(
    'write of an early run given up when the disk is full',
    0,
    'core/jobs/record/end-early-runs.ts',
    'forMs: Infinity',
    'forMs: 0',
  ),
  bug(
    'early run begun twice',
    10,
    'core/jobs/submit/submit-job.ts',
    'const run = early.find(job) ?? (mayRunEarly ? batch.runEarly(job) : undefined);',
    'const run = mayRunEarly ? batch.runEarly(job) : undefined;',
  ),
  {
    name: 'row of an early run overwrites an outcome',
    seeds: 0,
    patches: [
      {
        file: 'core/store/jobs/ended-rows.ts',
        find: 'FROM given g ON CONFLICT (endpoint_id, id) DO NOTHING',
        put: `FROM given g ON CONFLICT (endpoint_id, id) DO UPDATE SET state = excluded.state, attempt = excluded.attempt,
          machine_id = excluded.machine_id, worker_id = excluded.worker_id, finished_at = excluded.finished_at`,
      },
      {
        file: 'core/store/jobs/ended-rows.ts',
        find: 'substring(${input.blob}::bytea FROM input_start FOR input_length) FROM written',
        put: 'substring(${input.blob}::bytea FROM input_start FOR input_length) FROM written ON CONFLICT DO NOTHING',
      },
      {
        file: 'core/store/jobs/ended-rows.ts',
        find: 'substring(${output.blob}::bytea FROM output_start FOR output_length) FROM written',
        put: `substring(\${output.blob}::bytea FROM output_start FOR output_length) FROM written
          ON CONFLICT (endpoint_id, job_id) DO UPDATE SET output = excluded.output, error = NULL`,
      },
    ],
  },
  bug(
    'outcome of an early run does not wait for its row',
    10,
    'core/jobs/record/end-early-runs.ts',
    'return early.store(run).then(record);',
    'return record();',
  ),
];
