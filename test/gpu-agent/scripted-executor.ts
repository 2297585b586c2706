/** An executor whose workloads the test scripts: no process runs, and each workload ends when the test ends it. */
import type { Executor, Launch, RunningWorkload, WorkloadExit } from '@slipway/gpu-agent/executors/executor';

/** A workload that was started. */
export interface Started {
  launch: Launch;
  /** Requests to it, in order. */
  asked: ('stop' | 'kill' | 'freeze' | 'thaw')[];
  /** It ends. */
  exit(exit?: Partial<WorkloadExit>): void;
}

export class ScriptedExecutor implements Executor {
  /** All starts, in order. */
  readonly starts: Started[] = [];
  /** Workloads that run from an earlier agent, by id. */
  readonly leftovers = new Map<string, Started>();
  closed = false;
  /** Preparation of a launch. Default: done at once. */
  preparing: (progress: (text: string) => void, signal: AbortSignal) => Promise<void> = async () => {};
  /** Freezing of a workload. Default: done at once. */
  freezing: () => Promise<void> = async () => {};
  /** Resuming of a workload. Default: done at once. */
  thawing: () => Promise<void> = async () => {};
  /** Checks whether a workload of an earlier agent runs. Default: done at once. */
  adopting: () => Promise<void> = async () => {};
  /** Processes of every workload. */
  pids: readonly number[] = [];

  /** Returns the latest start of a workload. */
  of(workloadId: string): Started | undefined {
    return this.starts.findLast(({ launch }) => launch.workloadId === workloadId);
  }

  async prepare(_launch: Launch, progress: (text: string) => void, signal: AbortSignal): Promise<void> {
    await this.preparing(progress, signal);
  }

  start(launch: Launch): RunningWorkload {
    const { workload, started } = this.#make(launch);
    this.starts.push(started);
    return workload;
  }

  async adopt(workloadId: string): Promise<RunningWorkload | undefined> {
    await this.adopting();
    if (!this.leftovers.has(workloadId)) return undefined;
    const { workload, started } = this.#make(this.leftovers.get(workloadId)!.launch);
    this.leftovers.set(workloadId, started);
    return workload;
  }

  async sweep(): Promise<void> {}

  async close(): Promise<void> {
    this.closed = true;
  }

  #make(launch: Launch): { workload: RunningWorkload; started: Started } {
    const { promise: ended, resolve } = Promise.withResolvers<WorkloadExit>();
    const started: Started = {
      launch,
      asked: [],
      exit: (exit = {}) => resolve({ code: undefined, signal: undefined, failure: undefined, ...exit }),
    };
    const workload: RunningWorkload = {
      ended,
      address: '127.0.0.1',
      stop: () => {
        started.asked.push('stop');
      },
      kill: () => {
        started.asked.push('kill');
        started.exit({ signal: 'SIGKILL' });
      },
      freeze: async () => {
        started.asked.push('freeze');
        await this.freezing();
      },
      thaw: async () => {
        started.asked.push('thaw');
        await this.thawing();
      },
      pids: async () => [...this.pids],
      stats: async () => undefined,
    };
    return { workload, started };
  }
}
