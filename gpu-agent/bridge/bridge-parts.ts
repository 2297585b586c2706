/** Dependencies of the bridge's routes. */

import type { MemoryBudget } from '@slipway/kit/bytes/memory-budget';
import type { SlicedWork } from '@slipway/kit/bytes/sliced-work';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { FastifyInstance } from 'fastify';
import type { AttemptStopper } from '../attempts/attempt-stopper.ts';
import type { AttemptTable } from '../attempts/attempt-table.ts';
import type { ChunkLog } from '../attempts/chunk-log.ts';
import type { Evidence } from '../attempts/evidence.ts';
import type { HandOver } from '../attempts/hand-over.ts';
import type { Holdings } from '../attempts/holding.ts';
import type { RunRecorder } from '../attempts/run-recorder.ts';
import type { ToCore } from '../attempts/to-core.ts';
import type { WorkerReporter } from '../attempts/worker-reporter.ts';
import type { WorkerPool } from '../workloads/workers/worker-pool.ts';
import type { OpenPolls } from './open-polls.ts';

export interface BridgeParts {
  pool: WorkerPool;
  table: AttemptTable;
  holdings: Holdings;
  polls: OpenPolls;
  handOver: HandOver;
  evidence: Evidence;
  stopper: AttemptStopper;
  chunks: ChunkLog;
  recorder: RunRecorder;
  toCore: Pick<ToCore, 'addProgress'>;
  reporter: WorkerReporter;
  /** Memory budget of the bodies that workers send, by worker. */
  bodies: MemoryBudget;
  /** Work on these bodies, by endpoint. */
  work: SlicedWork;
  /** Counts calls. Default: they are not counted. */
  countCalls?: ((app: FastifyInstance) => void) | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Aborts when the agent stops. */
  stopping: AbortSignal;
}
