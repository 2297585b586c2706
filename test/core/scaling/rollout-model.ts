/**
 * A model of rollouts: one endpoint, some GPUs, one decision per tick, and workers that start or fail as their version
 * determines.
 */

import { NO_QUOTA } from '@slipway/core/domain/accounts/quota';
import { checkFleetSample, fleetSample, requestOf } from '@slipway/core/domain/scaling/fleet-sample';
import { placeWorker } from '@slipway/core/domain/scaling/placement';
import type { PlacementMachine } from '@slipway/core/domain/scaling/placement-machine';
import { scaledSettings } from '@slipway/core/domain/scaling/rollout';
import type { Rollout } from '@slipway/core/domain/scaling/rollout-settings';
import type { Decision, DecisionSample, DecisionSettings } from '@slipway/core/domain/scaling/scale-decision';
import { decide, wishedChanges } from '@slipway/core/domain/scaling/scale-decision';
import type { WorkerSample } from '@slipway/core/domain/scaling/scaler';

export interface World {
  gpus: number;
  /** Ticks until a worker is ready, or fails. */
  startTicks: number;
  /** Versions whose workers never come up. */
  bad: readonly number[];
  /** Ticks that a drained worker with jobs needs. */
  drainTicks: number;
  settings: Partial<DecisionSettings>;
  /** Jobs at each tick: each ready worker holds one, the others wait. */
  jobs: number;
}

interface ModelWorker {
  id: string;
  gpu: string;
  version: number;
  desired: 'RUN' | 'DRAIN';
  state: 'INITIALIZING' | 'READY' | 'UNHEALTHY';
  bornAt: number;
  readyAt: number;
  drainedAt: number;
  failures: number;
  served: boolean;
  idleSince: number;
  held: number;
}

const TICK_MS = 1_000;
const BASE: DecisionSettings = {
  workersMin: 2,
  workersMax: 2,
  idleTimeoutSeconds: 5,
  scalerType: 'REQUEST_COUNT',
  scalerValue: 1,
  flashBoot: false,
  version: 1,
  imageName: '',
  gpuIds: [],
  gpuCount: 1,
  instanceIds: [],
  locations: [],
  allowedCudaVersions: [],
  dataCenterIds: [],
};

export class RolloutModel {
  readonly #world: World;
  workers: ModelWorker[] = [];
  rollout: Rollout = {
    version: 1,
    state: 'CHECKING',
    goodVersion: null,
    roomMade: false,
    checked: false,
    reason: '',
    ageMs: 0,
  };
  version = 1;
  now = 0;
  target = 0;
  /** Maximum number of workers at once, including draining ones. */
  mostAlive = 0;
  decision: Decision | undefined;
  #made = 0;

  constructor(world: World) {
    this.#world = world;
  }

  get ready(): number {
    return this.workers.filter(({ state, desired }) => state === 'READY' && desired === 'RUN').length;
  }

  /** Releases a new version. */
  release(atOnce = false): void {
    this.version += 1;
    this.rollout = {
      ...this.rollout,
      version: this.version,
      state: atOnce ? 'REPLACING' : 'CHECKING',
      roomMade: false,
      checked: false,
    };
  }

  tick(): void {
    this.now += 1;
    this.#live();
    const sample = this.#sample();
    this.decision = decide(sample);
    this.target = this.decision.target;
    this.#apply(this.decision, sample.settings.version);
    this.mostAlive = Math.max(this.mostAlive, this.workers.filter(({ state }) => state !== 'UNHEALTHY').length);
  }

  #live(): void {
    const { startTicks, bad, drainTicks, jobs } = this.#world;
    for (const worker of this.workers) {
      if (worker.state === 'INITIALIZING' && this.now - worker.bornAt >= startTicks) {
        const fails = bad.includes(worker.version);
        Object.assign(
          worker,
          fails
            ? { state: 'UNHEALTHY', failures: worker.failures + 1, idleSince: this.now }
            : { state: 'READY', readyAt: this.now },
        );
        if (!fails) worker.idleSince = this.now;
      }
    }
    this.workers = this.workers.filter(
      (worker) => worker.desired === 'RUN' || (worker.held > 0 && this.now - worker.drainedAt < drainTicks),
    );
    let left = jobs;
    for (const worker of this.workers) {
      if (worker.state !== 'READY' || worker.desired !== 'RUN') continue;
      const had = worker.held;
      worker.held = left > 0 ? 1 : 0;
      left -= worker.held;
      if (had > 0) worker.served = true;
      if (worker.held > 0) worker.idleSince = this.now;
    }
  }

  #sample(): DecisionSample {
    const released = { ...BASE, ...this.#world.settings, version: this.version };
    const { goodVersion } = this.rollout;
    const good =
      goodVersion === null || goodVersion === this.version ? undefined : { ...released, version: goodVersion };
    const workers = this.workers.map((worker) => this.#seen(worker));
    const settings: DecisionSettings = scaledSettings(
      released,
      good,
      this.rollout,
      workers,
      this.now === 1 ? undefined : this.target,
    );
    if (good && settings.rollout?.state === 'CHECKING') settings.checked = requestOf(released);
    const held = this.workers.reduce((sum, each) => sum + (each.desired === 'RUN' ? each.held : 0), 0);
    const sample: DecisionSample = {
      demand: { queued: Math.max(this.#world.jobs - held, 0), oldestWaitMs: 0, running: held, workers },
      settings,
    };
    const { retire, yields, check } = wishedChanges(sample);
    const fleet = fleetSample(sample, this.#machines(retire), NO_QUOTA);
    const without = this.#machines([...retire, ...(yields === undefined ? [] : [yields])]);
    const exchange =
      yields !== undefined && fleet.candidates.length === 0 && !('refusal' in placeWorker(without, settings))
        ? { yields }
        : {};
    const checkFleet = check && checkFleetSample(sample, this.#machines(retire), NO_QUOTA);
    return {
      ...sample,
      fleet: { ...fleet, ...(check ? {} : exchange) },
      ...(checkFleet && { checkFleet: { ...checkFleet, ...exchange } }),
    };
  }

  #seen({
    id,
    version,
    desired,
    state,
    bornAt,
    readyAt,
    failures,
    served,
    idleSince,
    held,
  }: ModelWorker): WorkerSample {
    return {
      id,
      version,
      desired,
      state,
      machineId: 'm',
      gpus: 1,
      reachable: true,
      held,
      failures,
      idleMs: (this.now - idleSince) * TICK_MS,
      ageMs: (this.now - bornAt) * TICK_MS,
      retryDue: state === 'UNHEALTHY' && this.now > idleSince,
      ...(served && { served: true as const }),
      ...(readyAt > 0 && { readyMs: (this.now - readyAt) * TICK_MS }),
    };
  }

  #machines(goneIds: readonly string[]): PlacementMachine[] {
    const used = new Set(
      this.workers.filter(({ id, state }) => state !== 'UNHEALTHY' && !goneIds.includes(id)).map(({ gpu }) => gpu),
    );
    const gpus = Array.from({ length: this.#world.gpus }, (_, index) => ({
      uuid: `g${index}`,
      name: 'NVIDIA L4',
      migProfile: '',
      standby: false,
      unhealthy: '',
      used: used.has(`g${index}`),
    }));
    return [
      {
        id: 'm',
        name: 'm',
        connected: true,
        gone: false,
        cordoned: false,
        gpus,
        locations: [],
        cpuSlots: 0,
        cpuSlotsUsed: 0,
        vcpus: 0,
        vcpusUsed: 0,
        memoryGb: 0,
        memoryGbUsed: 0,
        cudaVersion: '',
        siblings: 0,
        standbys: [],
        standbyMax: 0,
        runsCommands: true,
        engine: undefined,
        noEngineReason: '',
        hasImage: false,
      },
    ];
  }

  #apply({ actions, rollout: step }: Decision, scaled: number): void {
    const released = this.version;
    for (const action of actions) {
      if (action.do === 'ADD') {
        this.#made += 1;
        this.workers.push({
          id: `w${this.#made}`,
          gpu: action.gpuUuids[0]!,
          version: action.version ?? scaled,
          desired: 'RUN',
          state: 'INITIALIZING',
          bornAt: this.now,
          readyAt: 0,
          drainedAt: 0,
          failures: action.failures,
          served: false,
          idleSince: this.now,
          held: 0,
        });
      } else if (action.do === 'DRAIN') {
        Object.assign(this.workers.find(({ id }) => id === action.workerId)!, {
          desired: 'DRAIN',
          drainedAt: this.now,
        });
      } else this.workers = this.workers.filter(({ id }) => id !== action.workerId);
    }
    if (!step) return;
    const { state } = step;
    this.rollout = {
      ...this.rollout,
      version: released,
      state: state ?? this.rollout.state,
      checked: this.rollout.checked || step.checked === true,
      roomMade: step.roomMade === true || (this.rollout.roomMade && state === undefined),
      goodVersion: state === 'COMPLETE' ? released : this.rollout.goodVersion,
    };
  }
}
