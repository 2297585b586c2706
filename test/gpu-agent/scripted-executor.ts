/** An executor whose workloads the test scripts: no process runs, and each workload ends when the test ends it. */
import type { Executor, Launch, RunningUnit, UnitExit } from '@slipway/gpu-agent/executors/executor';

/** A unit that was started. */
export interface Started {
  launch: Launch;
  /** Requests to it, in order. */
  asked: ('stop' | 'kill' | 'freeze' | 'thaw')[];
  /** It ends. */
  exit(exit?: Partial<UnitExit>): void;
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

  /** The latest start of a unit. */
  of(unitId: string): Started | undefined {
    return this.starts.findLast(({ launch }) => launch.unitId === unitId);
  }

  async prepare(_launch: Launch, progress: (text: string) => void, signal: AbortSignal): Promise<void> {
    await this.preparing(progress, signal);
  }

  start(launch: Launch): RunningUnit {
    const { unit, started } = this.#make(launch);
    this.starts.push(started);
    return unit;
  }

  async adopt(unitId: string): Promise<RunningUnit | undefined> {
    if (!this.leftovers.has(unitId)) return undefined;
    const { unit, started } = this.#make(this.leftovers.get(unitId)!.launch);
    this.leftovers.set(unitId, started);
    return unit;
  }

  async sweep(): Promise<void> {}

  async close(): Promise<void> {
    this.closed = true;
  }

  #make(launch: Launch): { unit: RunningUnit; started: Started } {
    const { promise: ended, resolve } = Promise.withResolvers<UnitExit>();
    const started: Started = {
      launch,
      asked: [],
      exit: (exit = {}) => resolve({ code: undefined, signal: undefined, failure: undefined, ...exit }),
    };
    const unit: RunningUnit = {
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
      },
      stats: async () => undefined,
    };
    return { unit, started };
  }
}
