/**
 * One pod of this machine, from its first request to its removal: its disk and its reports to core. Nothing here
 * depends on the session or on the lease: a pod belongs to one machine for its whole life and no other machine may ever
 * run it, so it continues while core cannot be reached.
 */
import type { DesiredPod, PodReport, WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';
import { PodState } from '@slipway/proto/gen/slipway/v1/pod';
import type { Executor, WorkloadExit } from '../../executors/executor.ts';
import { PrepareError } from '../../executors/executor.ts';
import { describeExit, exitAdvice, REASON_LOG_BYTES, withLog } from '../../launch/end-reason.ts';
import type { Ready, WorkloadLauncher } from '../../launch/launcher.ts';
import type { LogArchive } from '../../launch/log-archive.ts';
import type { TimedLog } from '../../launch/timed-log.ts';
import type { OpenPodPort, PodAddresses } from '../http/pod-ports.ts';
import { forClients, forFacades, httpPorts, PodPorts, tcpPorts } from '../http/pod-ports.ts';
import type { Desired, Policy } from '../step.ts';
import { isLive, isUnchecked } from '../step.ts';
import { Workload } from '../workload.ts';
import type { WorkloadKind, WorkloadParts } from '../workload-kind.ts';
import type { PodFiles } from './pod-files.ts';

/** Dependencies that all pods of a machine share. */
export interface PodParts extends WorkloadParts {
  launcher: WorkloadLauncher;
  files: PodFiles;
  archive: LogArchive;
  /** How its ports are reached. */
  reach: PodAddresses;
  /** How long a process may take to end after SIGTERM, in milliseconds. */
  graceMs: number;
  /** Called when there is something to report to core. */
  onChanged(podId: string): void;
}

/** Record of a pod that outlives its agent. */
export interface AdoptablePod {
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
  readonly #httpPorts: PodPorts;
  readonly #tcpPorts: PodPorts;
  /** The last request from core. */
  #request: DesiredPod;
  #report: PodReport;
  #hasRequest: boolean;
  /** The log already has the output of previous agents, or does not need it. */
  #hasPreviousLog = false;
  /** Report of the last end of the run that is desired. */
  #failed: PodReport | undefined;

  /**
   * Nothing happens before `begin`. `previous`: the pod runs from a previous agent, and core's request, which says how
   * to start it, is still to come.
   */
  constructor(request: DesiredPod, parts: PodParts, previous = false) {
    this.id = request.podId;
    this.ids = { podId: this.id };
    this.#parts = parts;
    const { reach } = parts;
    const { publicPorts } = reach;
    this.#httpPorts = this.#openPorts(httpPorts, forFacades(reach));
    this.#tcpPorts = this.#openPorts(publicPorts.host === '' ? () => [] : tcpPorts, forClients(publicPorts, this.id));
    this.#request = request;
    this.policy = { restarts: true, graceMs: parts.graceMs, initTimeoutMs: undefined };
    this.#report = {
      podId: this.id,
      run: request.run,
      // STARTING would say that its container is gone.
      state: previous ? PodState.RUNNING : PodState.STARTING,
      reason: '',
      exitCode: undefined,
      httpPorts: NONE,
      tcpPorts: NONE,
    };
    const made = previous ? { run: request.run, disk: request.disk } : undefined;
    this.#workload = new Workload(this.id, desiredOf(request), this, parts, { asked: false, made });
    this.#hasRequest = !previous;
  }

  /** Returns the report for core. */
  report(): PodReport {
    return this.#report;
  }

  /**
   * Record by which the next agent finds the pod. `undefined` unless it runs, or may run, in a container, which
   * continues when the agent ends.
   */
  get record(): AdoptablePod | undefined {
    const { spec } = this.#request;
    const { phase, made } = this.#workload.observed;
    if (!spec?.imageName || !made || !(isLive(phase) || isUnchecked(phase)) || this.#workload.isEnding)
      return undefined;
    return { ...made, image: spec.imageName, gpuUuids: spec.gpuUuids };
  }

  get log(): TimedLog {
    return this.#workload.log;
  }

  /** It does not run, and will not until the desired state changes. */
  get hasEnded(): boolean {
    const { phase, retryAtMs } = this.#workload.observed;
    return (
      (phase === 'cleaned' && this.#workload.desired.want === 'stopped') ||
      (phase === 'exited' && retryAtMs === Infinity)
    );
  }

  /** Resolves when the pod and its files are gone, or when the agent stops and the pod no longer runs. */
  get done(): Promise<void> {
    return this.#workload.done;
  }

  /** Starts to drive the pod. */
  begin(): void {
    this.#parts.onChanged(this.id);
    this.#workload.evaluate();
  }

  /** Sets the desired state from core. `undefined` if the pod and its files must be removed. */
  want(request: DesiredPod | undefined): void {
    const desired: Desired = request ? desiredOf(request) : { ...this.#workload.desired, want: 'absent' };
    const { want, run, disk } = this.#workload.desired;
    if (want !== desired.want || run !== desired.run || disk !== desired.disk) this.#failed = undefined;
    if (request) this.#request = request;
    this.#hasRequest = true;
    this.#workload.want(desired);
  }

  /** Ends its process and keeps its files, because the agent stops. */
  shutDown(): void {
    this.#workload.want({ ...this.#workload.desired, want: 'shutdown' });
  }

  /** Runs the due actions. */
  evaluate(): void {
    this.#workload.evaluate();
    this.#updatePorts();
  }

  /**
   * Returns where one of its ports listens, as seen from this host. `undefined` if the pod does not run, or has no such
   * HTTP port.
   */
  httpPort(port: number): { host: string; port: number } | undefined {
    const { address } = this.#workload;
    return address && this.#hasRequest && httpPorts(this.#request.spec).includes(port)
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
    const { spec, refusal } = this.#request;
    if (refusal !== '') throw new PrepareError('REFUSED', refusal);
    if (!spec) throw new PrepareError('REFUSED', 'Core did not say how to start the pod.');
    if (!this.#hasRequest) throw new Error('core has not said yet how to start it');
    const { launcher, files, archive } = this.#parts;
    const previous = this.#hasPreviousLog ? undefined : await archive.attributed(this.id);
    if (previous) this.log.precede(previous);
    this.#hasPreviousLog = true;
    return launcher.pod({
      podId: this.id,
      run,
      spec,
      openDisk: (by, user) => files.openFor(this.id, disk, by, user),
      onOutput: (bytes) => this.output(bytes),
    });
  }

  started(): void {
    this.#hasPreviousLog = true;
    this.#failed = undefined;
  }

  changed(): void {
    this.#updatePorts();
    const report = this.#reportNow();
    const { run, state, reason, exitCode } = this.#report;
    const isSame =
      report.run === run &&
      report.state === state &&
      report.reason === reason &&
      report.exitCode === exitCode &&
      report.httpPorts === this.#report.httpPorts &&
      report.tcpPorts === this.#report.tcpPorts;
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
    const again =
      `The pod ${describeExit(exit)}${exitAdvice(exit, memoryGb)}. It is started again after ` +
      `${Math.ceil(pauseMs / 1_000)} s.`;
    const reason = pauseMs === Infinity ? exit.failure! : withLog(again, this.log.tail(REASON_LOG_BYTES));
    const report = { podId: this.id, run, state: PodState.FAILED, reason, exitCode: exit.code };
    this.#failed = { ...report, httpPorts: NONE, tcpPorts: NONE };
    this.#parts.logger.info({ podId: this.id, run, exit }, 'pod ended by itself');
  }

  async cleanUpFiles(disk: number | undefined): Promise<void> {
    const { files, archive, logger } = this.#parts;
    const warn = (what: string) => (error: unknown) => logger.warn({ err: error, podId: this.id }, what);
    if (disk !== undefined) await files.open(this.id, disk).catch(warn('disks of a pod were not removed'));
    // Archived so that the next agent can read it too.
    if (this.log.size === 0) return;
    this.#hasPreviousLog = true;
    await archive.keep({ id: this.id, owner: this.id }, this.log.kept()).catch(warn('log was not kept'));
  }

  async remove(): Promise<void> {
    await this.#parts.files.remove(this.id);
    await this.#parts.archive.drop(this.id);
    this.#parts.logger.info({ podId: this.id }, 'pod removed');
  }

  #openPorts(named: (spec: WorkerSpec) => number[], open: OpenPodPort): PodPorts {
    return new PodPorts({
      named,
      open,
      onChanged: () => this.changed(),
      onFailed: (port, err) =>
        this.#parts.logger.warn({ err, podId: this.id, port }, 'port of a pod cannot be reached from outside'),
    });
  }

  #updatePorts(): void {
    const isUp = isLive(this.#workload.observed.phase) && !this.#workload.isEnding && this.#hasRequest;
    const address = isUp ? this.#workload.address : undefined;
    for (const ports of [this.#httpPorts, this.#tcpPorts]) ports.update(address, this.#request.spec);
  }

  /** Returns the report. The last one stays valid until the desired state is reached. */
  #reportNow(): PodReport {
    const { phase, made } = this.#workload.observed;
    const { want, run } = this.#workload.desired;
    const reportOf = (of: number, state: PodState, reason = ''): PodReport => ({
      podId: this.id,
      run: of,
      state,
      reason,
      exitCode: undefined,
      httpPorts: state === PodState.RUNNING ? this.#httpPorts.shown : NONE,
      tcpPorts: state === PodState.RUNNING ? this.#tcpPorts.shown : NONE,
    });
    // A previous agent left it running.
    if (made && isUnchecked(phase)) return this.#report;
    if (isLive(phase)) return this.#workload.isEnding ? this.#report : reportOf(made?.run ?? run, PodState.RUNNING);
    if (want === 'shutdown' && this.#report.state === PodState.RUNNING) {
      return reportOf(this.#report.run, PodState.STARTING, 'Its agent was stopped; the next one starts it again.');
    }
    if (want === 'stopped') return phase === 'cleaned' ? reportOf(run, PodState.EXITED) : this.#report;
    if (want !== 'running') return this.#report;
    return this.#failed ?? reportOf(run, PodState.STARTING, this.#workload.progress);
  }
}

function desiredOf({ running, run, disk }: DesiredPod): Desired {
  return { want: running ? 'running' : 'stopped', run, disk };
}
