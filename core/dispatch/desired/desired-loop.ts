/**
 * Sends agents the workers and pods that their machines should have: the full set, whenever it differs from the last
 * one sent. Triggered by changes; every two seconds a resync compares all.
 */

import type { ActivityMonitor } from '@slipway/kit/lifecycle/activity';
import { REST_MS } from '@slipway/kit/lifecycle/activity';
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { DesiredImage, DesiredPod, DesiredWorker } from '@slipway/proto/gen/slipway/v1/agent_service';
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';
import type { MachineSettings } from '../../domain/machines/machine-pool.ts';
import type { CoreEvents } from '../../events/core-events.ts';
import type { WorkerSpecRow } from '../../store/machines/worker-specs.ts';
import type { DesiredWorkerRow } from '../../store/machines/worker-store.ts';
import type { DesiredPodRow } from '../../store/pods/pod-report-store.ts';
import type { Stores } from '../../store/storage.ts';
import type { OpenCredentials } from '../agent-messages.ts';
import { desiredToMessage } from '../agent-messages.ts';
import { desiredStateOf, standbyLevelOf } from '../desired-state.ts';
import type { LiveSession } from '../live-session.ts';
import type { SessionTable } from '../session-table.ts';
import type { DesiredImages } from './desired-images.ts';
import { desiredPods, podPicture } from './desired-pods.ts';
import type { DesiredSettings } from './desired-settings.ts';
import type { ResolveVariables, SecretResolver } from './secret-resolver.ts';
import { notStartedReason } from './secret-resolver.ts';

const PERIOD_MS = 2_000;
/**
 * All machines are resynced by the first pass after this many milliseconds, even without events. It is less than the
 * shortest pause of the loop.
 */
const ALL_PERIOD_MS = 1_600;

interface DesiredLoopOptions {
  table: SessionTable;
  workers: Stores['workers'];
  podReports: Stores['podReports'];
  images: DesiredImages;
  settings: DesiredSettings;
  events: CoreEvents;
  openCredentials: OpenCredentials;
  secrets: SecretResolver;
  /** Address of the hub that models come from. */
  modelHub: string;
  /** Called for a worker that must not start, with the reason. */
  onNotStarted(session: LiveSession, workerId: string, reason: string): void;
  /** Returns for how many milliseconds facades and edges have been able to report requests. */
  linksStableMs(): number;
  /** Default: it never rests. */
  activity?: ActivityMonitor | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
}

interface Sent {
  /** Fingerprint of the last message, to detect changes. */
  picture: string;
  /** Start message of each worker; it never changes for one worker. */
  messages: Map<string, DesiredWorker>;
  pods: Map<string, DesiredPod>;
}

/** Desired state of one machine. */
interface Wanted {
  rows: readonly DesiredWorkerRow[];
  /** Specifications of workers that were not sent yet, of any machine. */
  specs: ReadonlyMap<string, WorkerSpecRow>;
  resolve: ResolveVariables;
  podRows: readonly DesiredPodRow[];
  images: DesiredImage[];
  /** Settings of its pool. */
  settings: MachineSettings;
}

export class DesiredLoop extends LoopService {
  readonly #options: DesiredLoopOptions;
  readonly #sent = new WeakMap<LiveSession, Sent>();
  /** Machines whose workers or pods changed since the last pass: with many others only they are read. */
  readonly #changed = new Set<string>();
  #allDueMs = -Infinity;
  #tail: Promise<void> = Promise.resolve();
  /** Sessions of the next push, while one runs. */
  #next: { sessions: Set<LiveSession>; pushed: Promise<void> } | undefined;
  #off: () => void = () => undefined;

  constructor(options: DesiredLoopOptions) {
    super({ ...options, name: 'desired workers', periodMs: PERIOD_MS, restMs: REST_MS });
    this.#options = options;
  }

  protected override async onStart(): Promise<void> {
    const { events, table } = this.#options;
    this.#off = events.on('desired', (machineIds) => {
      const here = machineIds.filter((id) => table.get(id));
      for (const id of here) this.#changed.add(id);
      if (here.length > 0) this.wake();
    });
    await super.onStart();
  }

  protected override async onStop(): Promise<void> {
    this.#off();
    await super.onStop();
  }

  protected override async pass(): Promise<void> {
    const { table, clock } = this.#options;
    const now = clock.monotonicMs();
    const all = now >= this.#allDueMs;
    const sessions = all ? table.all() : [...this.#changed].flatMap((id) => table.get(id) ?? []);
    this.#changed.clear();
    // If this pass fails, the next one resyncs everything that it left out.
    const dueMs = this.#allDueMs;
    this.#allDueMs = -Infinity;
    await this.push(sessions);
    this.#allDueMs = all ? now + ALL_PERIOD_MS : dueMs;
  }

  /**
   * Sends changes to these sessions. Pushes run one at a time, so that an older state never follows a newer one.
   * Sessions that start during a push share the next one, because after a restart of core all machines connect at once.
   */
  push(sessions: readonly LiveSession[]): Promise<void> {
    const next = this.#next ?? this.#follow();
    for (const session of sessions) next.sessions.add(session);
    return next.pushed;
  }

  #follow(): { sessions: Set<LiveSession>; pushed: Promise<void> } {
    const sessions = new Set<LiveSession>();
    const pushed = this.#tail.then(() => {
      this.#next = undefined;
      return this.#push([...sessions]);
    });
    this.#tail = pushed.catch(() => undefined);
    this.#next = { sessions, pushed };
    return this.#next;
  }

  async #push(sessions: readonly LiveSession[]): Promise<void> {
    if (sessions.length === 0) return;
    const machineIds = sessions.map((session) => session.machineId);
    // At once: a frozen worker is woken by this, and a job waits for it.
    const [workerRows, podRows, images, settings] = await Promise.all([
      this.#options.workers.desiredOf(machineIds),
      this.#options.podReports.desiredOf(machineIds),
      this.#options.images.current(),
      this.#options.settings.of(sessions),
    ]);
    // Until all facades and edges could report, a worker without reported requests may still have clients.
    const mayBeIdle = this.#options.linksStableMs() >= LINK_TIMERS.reportsSettleMs;
    const workers = Map.groupBy(
      mayBeIdle ? workerRows : workerRows.map((row) => ({ ...row, idle: false })),
      (row) => row.machineId,
    );
    const pods = Map.groupBy(podRows, (row) => row.machineId);
    const specs = await this.#specsOf(
      sessions.flatMap((session) => {
        const known = this.#sent.get(session)?.messages;
        return (workers.get(session.machineId) ?? []).flatMap(({ id }) => (known?.has(id) ? [] : [id]));
      }),
    );
    const resolve = await this.#options.secrets.of([...specs.values()]);
    for (const session of sessions) {
      // One whose hello is still being handled gets its picture when it opens; to note it as sent before would keep it
      // from the agent.
      const { machineId } = session;
      const own = settings.get(session);
      if (!session.isOpen || !own) continue;
      await this.#pushOne(session, {
        rows: workers.get(machineId) ?? [],
        specs,
        resolve,
        podRows: pods.get(machineId) ?? [],
        images: images.get(machineId) ?? [],
        settings: own,
      });
    }
  }

  async #specsOf(workerIds: readonly string[]): Promise<Map<string, WorkerSpecRow>> {
    const specs = workerIds.length === 0 ? [] : await this.#options.workers.specsOf(workerIds);
    return new Map(specs.map((spec) => [spec.id, spec]));
  }

  async #pushOne(session: LiveSession, wanted: Wanted): Promise<void> {
    const { rows, specs, resolve, podRows, images, settings } = wanted;
    const workersSeen = rows.map((row) => `${row.id}=${row.desired}${row.idle ? '-idle' : ''}${levelSeen(row)}`).join();
    const imagesSeen = images.map((image) => `${image.name}@${image.digest}`).join();
    const picture = `${workersSeen};${podPicture(podRows)};${imagesSeen};${JSON.stringify(settings)}`;
    const before = this.#sent.get(session);
    if (before?.picture === picture) return;
    const { podReports, secrets, openCredentials, modelHub, onNotStarted } = this.#options;
    const pods = await desiredPods(podReports, podRows, before?.pods, secrets, openCredentials);
    const known = new Set(session.workerIds());
    let complete = true;
    const messages = new Map<string, DesiredWorker>();
    for (const row of rows) {
      const spec = specs.get(row.id);
      const sent = before?.messages.get(row.id);
      const { env, refusal } = spec ? resolve(spec) : { env: {} };
      // A worker that its agent has continues. Any other worker is left out until its end is written.
      if (refusal && !known.has(row.id)) {
        complete = false;
        onNotStarted(session, row.id, notStartedReason(refusal));
      } else if (spec) messages.set(row.id, desiredToMessage(row, spec, env, openCredentials, modelHub));
      // A worker without a specification was deleted between the two reads; the next pass drops it.
      else if (sent) messages.set(row.id, { ...sent, ...desiredFields(row) });
    }
    this.#sent.set(session, { picture: complete ? picture : '', messages, pods });
    session.desire(rows, { workers: [...messages.values()], pods: [...pods.values()], images, settings });
  }
}

/** Distinguishes the levels of standby in a fingerprint. */
function levelSeen({ desired, standbyLevel }: DesiredWorkerRow): string {
  return desired === 'FREEZE' ? `-${standbyLevel}` : '';
}

/** Returns the fields of a worker's message that may change. */
function desiredFields(row: DesiredWorkerRow): Pick<DesiredWorker, 'desired' | 'idle' | 'standbyLevel'> {
  return { desired: desiredStateOf(row), idle: row.idle, standbyLevel: standbyLevelOf(row) };
}
