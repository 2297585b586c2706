/** An executor that mounts views (host-views.ts) for commands from their preparation to their end. */
import type { Executor, Launch, RunningWorkload } from '../executor.ts';
import type { HostViews } from './host-views.ts';

export class ViewingExecutor implements Executor {
  readonly #inner: Executor;
  readonly #views: HostViews;
  /** By workload: the function that closes the views opened for its start. */
  readonly #opened = new Map<string, () => Promise<void>>();

  /** `inner`: the executor that runs the commands. */
  constructor(inner: Executor, views: HostViews) {
    this.#inner = inner;
    this.#views = views;
  }

  async prepare(launch: Launch, progress: (text: string) => void, signal: AbortSignal): Promise<void> {
    await this.#close(launch.workloadId);
    const close = await this.#open(launch);
    if (signal.aborted) await close();
    signal.throwIfAborted();
    this.#opened.set(launch.workloadId, close);
    // A workload that is not wanted any more may never be started.
    signal.addEventListener(
      'abort',
      () => {
        if (this.#opened.get(launch.workloadId) === close) void this.#close(launch.workloadId);
      },
      { once: true },
    );
    await this.#inner.prepare(launch, progress, signal);
    signal.throwIfAborted();
  }

  start(launch: Launch): RunningWorkload {
    const close = this.#opened.get(launch.workloadId);
    this.#opened.delete(launch.workloadId);
    const workload = this.#inner.start(launch);
    void workload.ended.then(close);
    return workload;
  }

  adopt(workloadId: string, onOutput: (bytes: Buffer) => void): Promise<RunningWorkload | undefined> {
    return this.#inner.adopt(workloadId, onOutput);
  }

  async sweep(keep: ReadonlySet<string>): Promise<unknown> {
    const swept = await this.#inner.sweep(keep);
    await this.#views.clear();
    return swept;
  }

  async close(): Promise<void> {
    await this.#inner.close();
    await this.#views.end();
  }

  async #open({ mounts, user }: Launch): Promise<() => Promise<void>> {
    const opened: string[] = [];
    const close = async (): Promise<void> => {
      for (const source of opened.splice(0)) await this.#views.close(source, user!);
    };
    try {
      for (const { source, target, readOnly } of mounts) {
        if (source === target) continue;
        await this.#views.open(source, user!, readOnly);
        opened.push(source);
      }
    } catch (error) {
      await close();
      throw error;
    }
    return close;
  }

  async #close(workloadId: string): Promise<void> {
    const close = this.#opened.get(workloadId);
    this.#opened.delete(workloadId);
    await close?.();
  }
}
