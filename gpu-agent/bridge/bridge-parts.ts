/** What the bridge's routes work with. */
import type { FastifyInstance } from 'fastify';
import type { Clock, Random } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { MemoryBudget } from '../../core/runtime/memory-budget.ts';
import type { SlicedWork } from '../../core/runtime/sliced-work.ts';
import type { AttemptStopper } from '../attempts/attempt-stopper.ts';
import type { AttemptTable } from '../attempts/attempt-table.ts';
import type { ChunkLog } from '../attempts/chunk-log.ts';
import type { Evidence } from '../attempts/evidence.ts';
import type { HandOver } from '../attempts/hand-over.ts';
import type { Holdings } from '../attempts/holding.ts';
import type { Keeper } from '../attempts/keeper.ts';
import type { ToCore } from '../attempts/to-core.ts';
import type { WorkerReporter } from '../attempts/worker-reporter.ts';
import type { WorkerPool } from '../units/workers/worker-pool.ts';
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
  keeper: Keeper;
  toCore: Pick<ToCore, 'addProgress'>;
  reporter: WorkerReporter;
  /** Room for the bodies that workers send, by worker. */
  bodies: MemoryBudget;
  /** Work on these bodies, by endpoint. */
  work: SlicedWork;
  /** Counts calls. Default: nobody does. */
  countCalls?: ((app: FastifyInstance) => void) | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Aborts when the agent stops. */
  stopping: AbortSignal;
}
