/** One container from its creation to its end: its output in order, the commands it receives, and how it ended. */
import { finished } from 'node:stream/promises';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import type Docker from 'dockerode';
import { statusOf } from '../../images/image-store.ts';
import type { RunningWorkload, WorkloadExit, WorkloadStats } from '../executor.ts';
import type { InspectedContainer } from './container-inspection.ts';
import { ENGINE_AWAY_MS, inspectContainer, pause, stateAfterOutput, statsOf, unpause } from './container-inspection.ts';
import { containerPids } from './container-pids.ts';
import { exitOf, GONE, NOT_STARTED, OVER } from './container-state.ts';
import { engineWords, readLog } from './engine-calls.ts';
import { withoutOverlap } from './join-output.ts';
import { killsInKernelLog, MemoryWatch } from './memory-watch.ts';
import { OutputFrames } from './output-frames.ts';
import { ReplaySize } from './replay-size.ts';

/** Options of ContainerWorkload. */
interface ContainerWorkloadOptions {
  /** For log lines. */
  workloadId: string;
  onOutput(bytes: Buffer): void;
  clock: Clock;
  logger: Logger;
}

export class ContainerWorkload implements RunningWorkload {
  readonly ended: Promise<WorkloadExit>;
  readonly #options: ContainerWorkloadOptions;
  readonly #ended = Promise.withResolvers<WorkloadExit>();
  /** Set once it has been created. */
  #container: Docker.Container | undefined;
  #address = '';
  /** Its first process, by its id on this host; 0 if it does not run. */
  #pid = 0;
  #memory: MemoryWatch | undefined;
  #output: NodeJS.ReadableStream | undefined;
  readonly #replay = new ReplaySize();
  #frozen = false;
  #over = false;
  #released = false;
  /** Its output was cut off, and that was reported. */
  #cut = false;
  /** The signal by which it was asked to end. */
  #asked: 'SIGTERM' | 'SIGKILL' | undefined;
  /** The engine has started it. */
  #isStarted = false;
  /** Commands to the engine run one after the other. */
  #orders: Promise<void> = Promise.resolve();

  constructor(options: ContainerWorkloadOptions) {
    this.#options = options;
    this.ended = this.#ended.promise;
  }

  get address(): string {
    return this.#address;
  }

  get #engine(): InspectedContainer {
    return { container: this.#container!, clock: this.#options.clock, isReleased: () => this.#released };
  }

  /** Starts the container that `create` makes, and follows it to its end. */
  async run(create: () => Promise<Docker.Container>): Promise<void> {
    try {
      this.#throwIfAsked();
      this.#container = await create();
      await this.#attach(false);
      this.#throwIfAsked();
      await this.#start(this.#container);
    } catch (error) {
      const failure = this.#asked ? undefined : `the container could not be started: ${engineWords(error)}`;
      return this.#end({ code: undefined, signal: this.#asked, failure });
    }
    this.#isStarted = true;
    // The engine rejects a signal for a container that has not started.
    if (this.#asked === 'SIGTERM') this.#terminate();
    await this.#inspect();
    await this.#follow();
  }

  /** Adopts a running container. Output that is still in the engine's log comes first. */
  async adopt(container: Docker.Container): Promise<void> {
    this.#container = container;
    this.#isStarted = true;
    await this.#inspect();
    // Podman cannot attach to a paused container. The driver freezes it again if it must stay frozen.
    if (this.#frozen) await this.#unpause();
    await this.#attach(true);
    void this.#follow();
  }

  /**
   * Reports the exit and the output of a container that ended while no agent ran. Returns false if it has not ended.
   */
  async readExit(container: Docker.Container): Promise<boolean> {
    this.#container = container;
    const { State: state } = await container.inspect();
    if (!OVER.has(state.Status)) return false;
    this.#take(await readLog(container).catch(() => Buffer.alloc(0)));
    this.#end(exitOf(state, await killsInKernelLog(container.id, state.ExitCode)));
    return true;
  }

  stop(): void {
    this.#asked ??= 'SIGTERM';
    if (this.#isStarted) this.#terminate();
  }

  #terminate(): void {
    this.#order(async (container) => {
      if (this.#frozen) await this.#unpause();
      await container.kill({ signal: 'SIGTERM' });
    });
  }

  kill(): void {
    this.#asked = 'SIGKILL';
    // Not in the queue of commands: a command that hangs must not delay it.
    if (this.#container && !this.#over) void this.#killUntilOver(this.#container);
  }

  async freeze(): Promise<void> {
    await this.#ask(async () => {
      if (this.#frozen) return;
      await pause(this.#engine);
      this.#frozen = true;
    });
  }

  async thaw(): Promise<void> {
    await this.#ask(async () => {
      if (this.#frozen) await this.#unpause();
    });
  }

  async pids(): Promise<number[]> {
    return this.#pid === 0 || this.#over ? [] : containerPids(this.#container!.id, this.#pid, this.#options.clock);
  }

  async stats(): Promise<WorkloadStats | undefined> {
    return this.#container && !this.#over ? statsOf(this.#container) : undefined;
  }

  /** Detaches from the container: it runs on, and nothing more is reported of it. */
  release(): void {
    this.#released = true;
    (this.#output as (NodeJS.ReadableStream & { destroy?(): void }) | undefined)?.destroy?.();
  }

  /**
   * Kills the container, with retries: the caller does not ask twice, and an engine that is unavailable or busy, or was
   * killed meanwhile, did not execute the command. 404 and 409 mean that it does not run.
   */
  async #killUntilOver(container: Docker.Container): Promise<void> {
    while (!this.#over && !this.#released) {
      try {
        if (this.#frozen) await this.#unpause().catch(() => undefined);
        return await container.kill({ signal: 'SIGKILL' });
      } catch (error) {
        if (statusOf(error) !== undefined) this.#report(error);
        if ([404, 409].includes(statusOf(error) ?? 0)) return;
      }
      await delay(this.#options.clock, ENGINE_AWAY_MS);
    }
  }

  /** Runs a command after the previous ones. Rejects if the engine rejects it for a container that runs. */
  async #ask(order: (container: Docker.Container) => Promise<void>): Promise<void> {
    const done = this.#orders.then(async () => {
      if (!this.#container || this.#over) return;
      await order(this.#container).catch((error: unknown) => {
        if (!this.#over) throw new Error(engineWords(error));
      });
    });
    this.#orders = done.catch(() => undefined);
    await done;
  }

  #order(order: (container: Docker.Container) => Promise<void>): void {
    this.#ask(order).catch((error: unknown) => this.#report(error));
  }

  async #unpause(): Promise<void> {
    await unpause(this.#engine);
    this.#frozen = false;
  }

  /**
   * Starts the container. Without a response from the engine it may run or have run: the connection broke, or the
   * engine was killed.
   */
  async #start(container: Docker.Container): Promise<void> {
    try {
      await container.start();
    } catch (error) {
      const status = statusOf(error) === undefined ? (await inspectContainer(this.#engine))?.State.Status : undefined;
      if (status === undefined || NOT_STARTED.has(status)) throw error;
    }
  }

  /** Reads what is known only of a running container; it may have ended already. */
  async #inspect(): Promise<void> {
    const info = await inspectContainer(this.#engine);
    if (!info) return;
    this.#frozen = info.State.Paused;
    this.#address = Object.values(info.NetworkSettings.Networks ?? {})[0]?.IPAddress ?? '';
    this.#pid = info.State.Pid;
    this.#memory = await MemoryWatch.of(info.State.Pid);
    if (this.#asked === 'SIGKILL') this.kill();
  }

  /**
   * Receives its output from now on. `again`: the contents of the engine's log come first, except what was received
   * already.
   */
  async #attach(again: boolean): Promise<void> {
    const container = this.#container!;
    const stream = await container.attach({ stream: true, stdout: true, stderr: true });
    const early: Buffer[] = [];
    let waits = again;
    const frames = new OutputFrames((bytes) => {
      if (waits) early.push(bytes);
      else this.#take(bytes);
    });
    stream.on('error', () => frames.destroy());
    stream.pipe(frames);
    this.#output = stream;
    if (!again) return;
    const log = await readLog(container).catch((error: unknown) => {
      // An engine may keep no log. A read that was cut off rejects instead, and a reattach tries it again.
      if (statusOf(error) !== undefined) return Buffer.alloc(0);
      (stream as NodeJS.ReadWriteStream & { destroy?(): void }).destroy?.();
      throw error;
    });
    waits = false;
    this.#take(log.subarray(this.#replay.outputBytes));
    this.#take(withoutOverlap(log, Buffer.concat(early)));
  }

  #take(bytes: Buffer): void {
    if (this.#released || bytes.length === 0) return;
    this.#replay.add(bytes);
    this.#options.onOutput(bytes);
  }

  async #follow(): Promise<void> {
    for (;;) {
      // The way it ends does not matter: the state that the engine then reports for the container counts.
      await finished(this.#output!, { writable: false }).catch(() => undefined);
      if (this.#released) return;
      const oomKills = await this.#memory?.kills();
      const state = await stateAfterOutput(this.#engine);
      if (this.#released) return;
      if (state === undefined) return this.#end(GONE);
      if (state !== 'runs')
        return this.#end(exitOf(state, oomKills ?? (await killsInKernelLog(this.#container!.id, state.ExitCode))));
      await this.#reattach();
    }
  }

  async #reattach(): Promise<void> {
    const { logger, workloadId, clock, onOutput } = this.#options;
    const joins = this.#replay.isWhole;
    // Podman accepts no attach while the container is frozen, so several tries may fail: it is reported once.
    if (!this.#cut) {
      logger.warn({ workloadId }, 'the output of a container was cut off, attaching again');
      if (!joins)
        onOutput(Buffer.from('[slipway] the container engine cut the output off: some lines are missing here\n'));
    }
    this.#cut = true;
    await this.#attach(joins).then(
      () => {
        this.#cut = false;
      },
      () => delay(clock, ENGINE_AWAY_MS),
    );
  }

  #throwIfAsked(): void {
    if (this.#asked) throw new Error('it was asked to end');
  }

  #end(exit: WorkloadExit): void {
    this.#over = true;
    this.#ended.resolve(exit);
  }

  #report(error: unknown): void {
    if (!this.#over)
      this.#options.logger.warn(
        { workloadId: this.#options.workloadId, err: error },
        'the engine rejected a command for a container',
      );
  }
}
