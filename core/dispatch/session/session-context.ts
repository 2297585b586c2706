/** Dependencies of a session: its stream, and what all sessions of a replica share. */

import type { ActivityMonitor } from '@slipway/kit/lifecycle/activity';
import type { Logger } from '@slipway/kit/log/logger';
import type { MessageSink } from '@slipway/kit/net/batching-stream';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { SessionResponse, WorkerLogReply } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { AttemptCalls } from '../../jobs/job-engine.ts';
import type { LiveJobs } from '../../jobs/live-jobs.ts';
import type { Stores } from '../../store/storage.ts';
import type { DesiredLoop } from '../desired/desired-loop.ts';
import type { ModelPeers } from '../model-peers.ts';
import type { ContainerReports } from '../reports/container-reports.ts';
import type { ExecutionTimes } from '../reports/execution-times.ts';
import type { ModelReports } from '../reports/model-reports.ts';
import type { PodReports } from '../reports/pod-reports.ts';
import type { WorkerReports } from '../reports/worker-reports.ts';
import type { SessionTable } from '../session-table.ts';
import type { SlotPool } from '../slot-pool.ts';
import type { LeaseRenewer } from './lease-renewer.ts';

/** The stream as a session needs it. */
export interface SessionStream extends MessageSink<SessionResponse> {
  /** Messages stop coming, and come again. */
  pause(): void;
  resume(): void;
  /** Ends it; with an error when the agent is to see one. */
  end(error?: unknown): void;
}

/** Dependencies that all sessions of a replica share. */
export interface SessionContext {
  table: SessionTable;
  pool: SlotPool;
  times: ExecutionTimes;
  machines: Stores['machines'];
  gpuHealth: Stores['gpuHealth'];
  ephemeral: Stores['ephemeral'];
  workers: Stores['workers'];
  running: Stores['running'];
  attempts: AttemptCalls;
  leases: LeaseRenewer;
  reports: WorkerReports;
  pods: PodReports;
  containers: ContainerReports;
  models: ModelReports;
  modelPeers: Pick<ModelPeers, 'keyOf' | 'settle'>;
  desired: DesiredLoop;
  live: LiveJobs;
  /** Returns the address at which other replicas reach this one. */
  replicaAddress(): string;
  onRefresh(workerId: string, machineId: string): void;
  /** Called when workers of these endpoints are drained because a GPU has failed. */
  onDrained(endpointIds: readonly string[]): void;
  /** Called when the machine of a session takes workers from now on. */
  onCapacity(machineId: string): void;
  onLogReply(machineId: string, reply: WorkerLogReply): void;
  /** Marked at each report of an agent that is more than a heartbeat. */
  activity: ActivityMonitor;
  clock: Clock;
  random: Random;
  logger: Logger;
}
