/**
 * One pod of this machine, from its first request to its removal: its disk and its reports to core. Nothing here
 * depends on the session or on the lease: a pod belongs to one machine for its whole life and no other machine may ever
 * run it, so it continues while core cannot be reached.
 */
import type { DesiredPod, PodReport } from '@slipway/proto/gen/slipway/v1/agent_service';
import { PodState } from '@slipway/proto/gen/slipway/v1/pod';
import type { Executor, WorkloadExit } from '../../executors/executor.ts';
import { PrepareError } from '../../executors/executor.ts';
import { describeExit, exitAdvice, REASON_LOG_BYTES, withLog } from '../../launch/end-reason.ts';
import type { Ready, WorkloadLauncher } from '../../launch/launcher.ts';
import type { LogArchive } from '../../launch/log-archive.ts';
import type { TimedLog } from '../../launch/timed-log.ts';
import type { HttpAddresses } from '../http/pod-ports.ts';
import { httpPorts, PodPorts } from '../http/pod-ports.ts';
import type { Desired, Policy } from '../step.ts';
import { isLive } from '../step.ts';
import { Workload } from '../workload.ts';
import type { WorkloadKind, WorkloadParts } from '../workload-kind.ts';
import type { PodFiles } from './pod-files.ts';

/** Dependencies that all pods of a machine share. */
export interface PodParts extends WorkloadParts {
  launcher: WorkloadLauncher;
  files: PodFiles;
  archive: LogArchive;
  /** How other machines reach its HTTP ports. */
  reach: HttpAddresses;
  /** How long a process may take to end after SIGTERM, in milliseconds. */
  graceMs: number;
  /** Called when there is something to report to core. */
  onChanged(podId: string): void;
}

/** Record of a pod that outlives its agent. */
export interface PodRecord {
  run: number;
  disk: number;
  image: string;
  gpuUuids: readonly string[];
}

/** The empty list of ports. Always the same object, because reports are compared by identity. */
const NONE: PodReport['httpPorts'] = [];

export class Pod implements WorkloadKind {
  readonly id: string;
  readonly policy: Policy;
  readonly ids: WorkloadKind['ids'];
  readonly #parts: PodParts;
  readonly #workload: Workload;
  readonly #ports: PodPorts;
  /** The last request from core. */
  #request: DesiredPod;
  #report: PodReport;
  #isTold: boolean;
  /** The log already has the output of previous agents, or does not need it. */
  #hasFormerLog = false;
  /** Report of the last end of the run that is desired. */
  #failed: PodReport | undefined;

  /**
   * Nothing happens before `begin`. `former`: the pod runs from a previous agent, and core's request, which says how to
   * start it, is still to come.
   */
  constructor(request: DesiredPod, parts: PodParts, former = false) {
    this.id = request.podId;
    this.ids = { podId: this.id };
    this.#parts = parts;
    this.#ports = new PodPorts(parts.reach, () => this.changed());
    this.#request = request;
    this.policy = { restarts: true, graceMs: parts.graceMs, initTimeoutMs: undefined };
    this.#report = {
      podId: this.id,
      run: request.run,
      state: PodState.STARTING,
      reason: '',
      exitCode: undefined,
      httpPorts: NONE,
    };
    const made = former ? { run: request.run, disk: request.disk } : undefined;
    this.#workload = new Workload(this.id, desiredOf(request), this, parts, { asked: false, made });
    this.#isTold = !former;
  }

  /** Returns the report for core. */
  report(): PodReport {
    return this.#report;
  }

  /**
   * Record by which the next agent finds the pod. `undefined` unless it runs in a container, which continues when the
   * agent ends.
   */
  get keepsake(): PodRecord | undefined {
    const { spec } = this.#request;
    const { phase, made } = this.#workload.observed;
    if (!spec?.imageName || !made || !isLive(phase) || this.#workload.isEnding) return undefined;
    return { ...made, image: spec.imageName, gpuUuids: spec.gpuUuids };
  }

  get log(): TimedLog {
    return this.#workload.log;
  }

  /** It does not run, and will not until the desired state changes. */
  get hasEnded(): boolean {
    const { phase, retryAtMs } = this.#workload.observed;
    return (
      (phase === 'settled' && this.#workload.desired.want === 'stand') || (phase === 'exited' && retryAtMs === Infinity)
    );
  }

  /** Resolves when the pod and its files are gone, or when the agent stops and the pod no longer runs. */
  get over(): Promise<void> {
    return this.#workload.over;
  }

  /** Starts to drive the pod. */
  begin(): void {
    this.#parts.onChanged(this.id);
    this.#workload.look();
  }

  /** Sets the desired state from core. `undefined` if the pod and its files must be removed. */
  want(request: DesiredPod | undefined): void {
    const desired: Desired = request ? desiredOf(request) : { ...this.#workload.desired, want: 'gone' };
    const { want, run, disk } = this.#workload.desired;
    if (want !== desired.want || run !== desired.run || disk !== desired.disk) this.#failed = undefined;
    if (request) this.#request = request;
    this.#isTold = true;
    this.#workload.want(desired);
  }

  /** Ends its process and keeps its files, because the agent stops. */
  halt(): void {
    this.#workload.want({ ...this.#workload.desired, want: 'halt' });
  }

  /** Runs the due actions. */
  look(): void {
    this.#workload.look();
    this.#lookAtPorts();
  }

  /**
   * Returns where one of its ports listens, as seen from this host. `undefined` if the pod does not run, or has no such
   * HTTP port.
   */
  httpPort(port: number): { host: string; port: number } | undefined {
    const { address } = this.#workload;
    return address && this.#isTold && httpPorts(this.#request.spec).includes(port)
      ? { host: address, port }
      : undefined;
  }

  // Implementation of WorkloadKind.

  get gpuUuids(): readonly string[] {
    return this.#request.spec?.gpuUuids ?? [];
  }

  isBusy(): boolean {
    return false;
  }

  executor(): Executor | undefined {
    return this.#request.spec && this.#parts.launcher.executorOf(this.#request.spec);
  }

  async launch({ run, disk }: Desired): Promise<Ready> {
    const { spec } = this.#request;
    if (!spec) throw new PrepareError('REFUSED', 'Core did not say how to start the pod.');
    if (!this.#isTold) throw new Error('core has not said yet how to start it');
    const { launcher, files, archive } = this.#parts;
    const former = this.#hasFormerLog ? undefined : await archive.attributed(this.id);
    if (former) this.log.precede(former);
    this.#hasFormerLog = true;
    return launcher.pod({
      podId: this.id,
      run,
      spec,
      openDisk: (by, user) => files.openFor(this.id, disk, by, user),
      onOutput: (bytes) => this.output(bytes),
    });
  }

  started(): void {
    this.#hasFormerLog = true;
    this.#failed = undefined;
  }

  changed(): void {
    this.#lookAtPorts();
    const report = this.#reportNow();
    const { run, state, reason, exitCode, httpPorts: ports } = this.#report;
    const isSame =
      report.run === run &&
      report.state === state &&
      report.reason === reason &&
      report.exitCode === exitCode &&
      report.httpPorts === ports;
    if (isSame) return;
    this.#report = report;
    this.#parts.onChanged(this.id);
  }

  output(bytes: Buffer): void {
    this.log.write(bytes);
  }

  ending(): void {}

  stopping(): void {}

  exited(exit: WorkloadExit, pauseMs = 0): void {
    const { run } = this.#workload.observed.made ?? this.#request;
    const memoryGb = this.#request.spec?.imageName ? this.#request.spec.memoryGb : 0;
    const again = `The pod ${describeExit(exit)}${exitAdvice(exit, memoryGb)}. It is started again after ${Math.ceil(pauseMs / 1_000)} s.`;
    const reason = pauseMs === Infinity ? exit.failure! : withLog(again, this.log.tail(REASON_LOG_BYTES));
    this.#failed = { podId: this.id, run, state: PodState.FAILED, reason, exitCode: exit.code, httpPorts: NONE };
    this.#parts.logger.info({ podId: this.id, run, exit }, 'pod ended by itself');
  }

  async settleFiles(disk: number | undefined): Promise<void> {
    const { files, archive, logger } = this.#parts;
    const warn = (what: string) => (error: unknown) => logger.warn({ err: error, podId: this.id }, what);
    if (disk !== undefined) await files.open(this.id, disk).catch(warn('disks of a pod were not removed'));
    // Archived so that the next agent can read it too.
    if (this.log.size === 0) return;
    this.#hasFormerLog = true;
    await archive.keep({ id: this.id, owner: this.id }, this.log.kept()).catch(warn('log was not kept'));
  }

  async remove(): Promise<void> {
    await this.#parts.files.remove(this.id);
    await this.#parts.archive.drop(this.id);
    this.#parts.logger.info({ podId: this.id }, 'pod removed');
  }

  #lookAtPorts(): void {
    const isUp = isLive(this.#workload.observed.phase) && !this.#workload.isEnding && this.#isTold;
    this.#ports.look(isUp ? this.#workload.address : undefined, this.#request.spec);
  }

  /** The last report stays valid until the desired state is reached. */
  #reportNow(): PodReport {
    const { phase, made } = this.#workload.observed;
    const { want, run } = this.#workload.desired;
    const say = (of: number, state: PodState, reason = ''): PodReport => ({
      podId: this.id,
      run: of,
      state,
      reason,
      exitCode: undefined,
      httpPorts: state === PodState.RUNNING ? this.#ports.shown : NONE,
    });
    if (isLive(phase)) return this.#workload.isEnding ? this.#report : say(made?.run ?? run, PodState.RUNNING);
    if (want === 'halt' && this.#report.state === PodState.RUNNING) {
      return say(this.#report.run, PodState.STARTING, 'Its agent was stopped; the next one starts it again.');
    }
    if (want === 'stand') return phase === 'settled' ? say(run, PodState.EXITED) : this.#report;
    if (want !== 'run') return this.#report;
    return this.#failed ?? say(run, PodState.STARTING, this.#workload.progress);
  }
}

function desiredOf({ running, run, disk }: DesiredPod): Desired {
  return { want: running ? 'run' : 'stand', run, disk };
}
