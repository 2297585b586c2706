/**
 * Runs a workload as a child process that leads its own process group. A guard in the same group blocks on a pipe that
 * the agent holds. When the agent dies, however it dies, the pipe closes and the guard kills the group. No workload
 * outlives its agent, unless the guard was killed first; then the next run of the agent ends it. Processes that
 * leave the process group are found by their control group, or else by their marks and parents.
 */

import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { uptime } from 'node:os';
import type { Writable } from 'node:stream';
import type { Clock, Timer } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import { hostPrograms } from '../container/host-programs.ts';
import type { Descendants } from '../descendants.ts';
import { descendantsNow, descendantsOf, stillThere } from '../descendants.ts';
import { NO_DESCRIPTOR, READ_AGAIN_MS, readAgain, UNREAD_MS_MAX } from '../descriptors.ts';
import type { Executor, Launch, RunningWorkload, WorkloadExit, WorkloadStats } from '../executor.ts';
import { carriedByShell } from './carried-env.ts';
import { freezeGroup, thawGroup } from './group-freezer.ts';
import { wasEndedForMemory } from './kernel-oom.ts';
import { withoutNewPrivs } from './no-new-privs.ts';
import { sendSignal } from './send-signal.ts';
import { startFailure } from './start-failure.ts';
import { Strays, workloadMark } from './strays.ts';
import type { WorkloadCgroup } from './workload-cgroups.ts';
import { WorkloadCgroups } from './workload-cgroups.ts';

/**
 * Shell code that starts the guard, a subshell in the background. The shell itself becomes the worker, so that its exit
 * code and signal are the worker's own. The guard ignores the signals of a graceful stop, and the worker must not hold
 * the guard's pipe. `$$` is the group's id. A line on that pipe says that the shell is in its control group: nothing
 * may start before.
 */
const GUARD = 'read -r go <&3 || exit 1; (trap "" TERM INT HUP; read -r line <&3; kill -9 -$$) & exec 3<&-; ';

/**
 * Shell code that changes to the working directory. A process of another user does that itself, because the agent may
 * reach directories that the user may not. It has only its user's groups: Node drops the agent's.
 */
const GO_THERE = 'cd -- "$1" || exit 126; shift; ';

/** How long to wait for the end of a worker's output if it left a process outside its group, in milliseconds. */
const OUTPUT_GRACE_MS = 1_000;

/** Starts workloads as processes of this host. */
export class ProcessExecutor implements Executor {
  readonly #clock: Clock;
  readonly #strays: Strays;
  readonly #machineId: () => string;
  readonly #cgroups: WorkloadCgroups;

  /** `machineId`: known by the first start or sweep. `cgroups`: default: this host's. */
  constructor(clock: Clock, machineId: () => string, cgroups: WorkloadCgroups = new WorkloadCgroups(machineId, clock)) {
    this.#clock = clock;
    this.#strays = new Strays(clock);
    this.#machineId = machineId;
    this.#cgroups = cgroups;
  }

  /** Does nothing: a command of this host needs no preparation. */
  async prepare(): Promise<void> {}

  /** Returns `undefined`: no process outlives its agent. */
  async adopt(): Promise<undefined> {}

  /** Ends what previous agents left: processes whose guard was ended first. Call it before the first start. */
  async sweep(): Promise<number> {
    return (await this.#cgroups.sweep()) + (await this.#strays.endAllOf(this.#machineId()));
  }

  async close(): Promise<void> {}

  start(launch: Launch): RunningWorkload {
    try {
      const mark = workloadMark(this.#machineId(), launch.workloadId);
      const child = spawnGuarded({ ...launch, env: { ...launch.env, ...mark } });
      // Without a free file descriptor it has no streams, and reports that in the next tick. Without a listener that
      // would end the agent.
      child.on('error', () => undefined);
      if (!child.stdio) return neverStarted(NO_DESCRIPTOR);
      child.stdout?.on('data', launch.onOutput);
      child.stderr?.on('data', launch.onOutput);
      // A closed pipe is not an error.
      const guard = child.stdio[3] as Writable | null | undefined;
      guard?.on('error', () => {});
      const cgroup = child.pid === undefined ? undefined : this.#cgroups.take(child.pid, launch.workloadId);
      guard?.write('\n');
      return new GroupProcess(child, { launch, cgroup, endMarked: () => this.#strays.end(mark), clock: this.#clock });
    } catch (error) {
      // Node throws some system errors instead of notifying the child's listeners. A chosen command must not be able to
      // end the agent that way.
      return neverStarted(startFailure(error as NodeJS.ErrnoException, launch));
    }
  }
}

function spawnGuarded({ user, workingDirectory, command, env }: Launch): ChildProcess {
  const { env: own, exec } = carriedByShell(env);
  const script = `${user ? GO_THERE : ''}${GUARD}${exec}`;
  const call = withoutNewPrivs(script, ['sh', ...(user ? [workingDirectory] : []), ...command], own);
  return spawn(call.program, call.args, {
    ...(user ? { uid: user.uid, gid: user.gid, cwd: '/' } : { cwd: workingDirectory }),
    env: call.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
}

function neverStarted(failure: string): RunningWorkload {
  const ended = Promise.resolve({ code: undefined, signal: undefined, failure });
  return {
    ended,
    address: '127.0.0.1',
    stop: () => {},
    kill: () => {},
    freeze: async () => {},
    thaw: async () => {},
    pids: async () => [],
    stats: async () => undefined,
  };
}

/** Dependencies of a started process. */
interface GroupOptions {
  launch: Launch;
  /** `undefined` if the agent may not make control groups. */
  cgroup: WorkloadCgroup | undefined;
  /** Ends the processes that it started and that carry its mark. */
  endMarked(): Promise<void>;
  clock: Clock;
}

class GroupProcess implements RunningWorkload {
  readonly ended: Promise<WorkloadExit>;
  /** It shares the host's network. */
  readonly address = '127.0.0.1';
  readonly #child: ChildProcess;
  readonly #clock: Clock;
  readonly #cgroup: WorkloadCgroup | undefined;
  readonly #endMarked: () => Promise<void>;
  #isKilled = false;
  #isEnding = false;
  /** Used without a control group: what it had started when it was asked to end. */
  #started: Descendants = new Map();

  constructor(child: ChildProcess, { launch, cgroup, endMarked, clock }: GroupOptions) {
    this.#child = child;
    this.#clock = clock;
    this.#cgroup = cgroup;
    this.#endMarked = endMarked;
    const startedAtS = uptime();
    this.ended = new Promise((resolve) => {
      let exit: WorkloadExit | undefined;
      let strays: Promise<unknown> | undefined;
      let timer: Timer | undefined;
      child.once('error', (error) => {
        if (child.pid === undefined)
          resolve({ code: undefined, signal: undefined, failure: startFailure(error, launch) });
      });
      child.once('exit', (code, signal) => {
        exit = { code: code ?? undefined, signal: signal ?? undefined, failure: undefined };
        // A SIGKILL that the agent did not send usually comes from the kernel, because memory ran out.
        const mayBe = signal === 'SIGKILL' && !this.#isKilled;
        const counted = code === 0 ? Promise.resolve(false) : this.#isCountedOut();
        // The guard still lives, so the group's id is not reused yet. This ends the guard and what the worker left
        // behind.
        this.kill();
        strays = counted.then(async (isCounted) => {
          const mustAsk = mayBe && !isCounted;
          const [isOut] = await Promise.all([
            mustAsk ? wasEndedForMemory(child.pid!, startedAtS, hostPrograms) : isCounted,
            // Not before the count was read: it goes with the group.
            this.#endStrays(),
          ]);
          if (isOut) exit!.outOfMemory = true;
        });
        timer = clock.after(OUTPUT_GRACE_MS, () => {
          child.stdout?.destroy();
          child.stderr?.destroy();
        });
      });
      child.once('close', () => {
        timer?.cancel();
        // The next user of its GPUs waits for this.
        void Promise.resolve(strays).then(() =>
          resolve(exit ?? { code: undefined, signal: undefined, failure: 'it never started' }),
        );
      });
    });
  }

  /** Returns whether its control group counts a process that was ended because memory ran out. Never rejects. */
  async #isCountedOut(): Promise<boolean> {
    const count = await this.#cgroup?.oomKills().catch(() => 0);
    return (count ?? 0) > 0;
  }

  stop(): void {
    this.#isEnding = true;
    // Only the leader gets the signal, as with a container runtime. The processes that it started are left to it until
    // the group is killed.
    this.#follow();
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGTERM');
    // A frozen process receives a signal only when it is resumed.
    if (this.#child.pid !== undefined) thawGroup(this.#child.pid);
  }

  kill(): void {
    if (this.#child.pid === undefined) return;
    this.#isKilled = true;
    this.#follow();
    sendSignal(-this.#child.pid, 'SIGKILL');
    this.#cgroup?.kill();
    this.#killFollowed();
    this.#child.stdio[3]?.destroy();
  }

  /** Kills the processes that were followed. Returns false if there may be more: they could not all be read. */
  #killFollowed(): boolean {
    const { found, isWhole } = stillThere(this.#started);
    for (const pid of found.keys()) sendSignal(pid, 'SIGKILL');
    return isWhole;
  }

  #follow(): void {
    if (this.#cgroup || this.#child.pid === undefined) return;
    this.#started = new Map([...this.#started, ...descendantsNow(this.#child.pid).found]);
  }

  async #endStrays(): Promise<void> {
    if (this.#cgroup) return this.#cgroup.end();
    const untilMs = this.#clock.monotonicMs() + UNREAD_MS_MAX;
    while (!this.#killFollowed() && this.#clock.monotonicMs() < untilMs) await delay(this.#clock, READ_AGAIN_MS);
    await this.#endMarked();
  }

  async freeze(): Promise<void> {
    const { pid } = this.#child;
    if (pid === undefined) return;
    await freezeGroup({
      group: pid,
      guardText: GUARD,
      candidates: () => this.#cgroup?.pids,
      isEnding: () => this.#isEnding,
      clock: this.#clock,
    });
  }

  async thaw(): Promise<void> {
    if (this.#child.pid !== undefined) thawGroup(this.#child.pid);
  }

  async pids(): Promise<number[]> {
    const { pid } = this.#child;
    if (pid === undefined) return [];
    const cgroup = this.#cgroup;
    if (cgroup) return readAgain(this.#clock, async () => cgroup.pids);
    return [pid, ...(await descendantsOf(pid, this.#clock)).keys()];
  }

  async stats(): Promise<WorkloadStats | undefined> {
    return undefined;
  }
}
