/**
 * Watches the health of this machine's GPUs. A GPU that has failed gets nothing new, and its workers end after their
 * jobs; one with a warning stays in use. The signs are in health/classify.ts.
 */

import { Loop } from '@slipway/kit/lifecycle/loop';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { DriverQuery } from './ask-driver.ts';
import { linkErrorsOfAny, listAny, reportOfAny } from './ask-driver.ts';
import type { GpuHealth } from './health/classify.ts';
import { classify, HEALTHY, NOT_LISTED } from './health/classify.ts';
import type { DriverFacts } from './health/driver-report.ts';
import { parseReport } from './health/driver-report.ts';
import type { XidEvent } from './health/kernel-log.ts';
import { KernelLog } from './health/kernel-log.ts';
import type { LinkErrors } from './health/link-errors.ts';
import { parseLinkErrors } from './health/link-errors.ts';
import type { ThrottleHistory } from './health/throttling.ts';
import { throttlingAfter } from './health/throttling.ts';
import type { MachineGpu } from './machine-gpu.ts';
import { parseCardOf } from './nvidia-smi-output.ts';

const PERIOD_MS = 60_000;
/** Looks per question for links while none is known. Links may come up after the agent, and a reset hides them. */
const LINK_SEARCH_LOOKS = 10;

/** Dependencies of the watch. */
interface GpuWatchOptions {
  /** Returns the GPUs as they were at the start. */
  gpus(): readonly MachineGpu[];
  /** Called when the health of a GPU has changed. */
  onChange(): void;
  /** Runs nvidia-smi. Default: as a child of this process. */
  ask?: DriverQuery | undefined;
  /** Default: the kernel's. */
  kernelLog?: Pick<KernelLog, 'read' | 'close'>;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class GpuWatch extends Loop {
  readonly #options: GpuWatchOptions;
  readonly #kernelLog: Pick<KernelLog, 'read' | 'close'>;
  #logFault: string | undefined;
  /** Health of GPUs and slices that are not healthy, by UUID. */
  #health: ReadonlyMap<string, GpuHealth> = new Map();
  /** Latest report of each card, by UUID. A card that is not in a report may still have its faults. */
  #facts: ReadonlyMap<string, DriverFacts> = new Map();
  /** Throttling of cards, by UUID. */
  #throttling: ReadonlyMap<string, ThrottleHistory> = new Map();
  /** Latest known errors of the links of cards, by UUID. Empty: no card has shown links yet. */
  #linkErrors: ReadonlyMap<string, LinkErrors> = new Map();
  /** Number of looks so far. */
  #looks = 0;

  constructor(options: GpuWatchOptions) {
    super({ ...options, name: 'GPU watch', periodMs: PERIOD_MS, pass: () => this.look() });
    this.#options = options;
    this.#kernelLog = options.kernelLog ?? new KernelLog();
  }

  override async stop(): Promise<void> {
    await super.stop();
    this.#kernelLog.close();
  }

  /** Returns the health of a GPU. */
  healthOf(uuid: string): GpuHealth {
    return this.#health.get(uuid) ?? HEALTHY;
  }

  /** Checks the GPUs. Never rejects. */
  async look(): Promise<void> {
    const { gpus, onChange, ask, logger } = this.#options;
    const real = gpus().filter(({ virtual }) => !virtual);
    if (real.length === 0) return;
    const list = await listAny(ask);
    if (list === undefined) {
      // The known faults stay.
      logger.warn('nvidia-smi did not answer, the health of GPUs is not known');
      return;
    }
    const health = this.#healthOfAll(real, parseCardOf(list), await this.#report());
    const changed = real.filter(
      ({ uuid }) => JSON.stringify(health.get(uuid) ?? HEALTHY) !== JSON.stringify(this.healthOf(uuid)),
    );
    this.#health = health;
    for (const { uuid, name } of changed) {
      const { fault, warning } = this.healthOf(uuid);
      if (fault === '' && warning === '') logger.info({ uuid, name }, 'a GPU is healthy again');
      else logger.warn({ uuid, name, fault, warning }, fault === '' ? 'a GPU has a warning' : 'a GPU is unhealthy');
    }
    if (changed.length > 0) onChange();
  }

  /** Returns the cards in the driver's report, with the errors of their links since the last look. */
  async #report(): Promise<DriverFacts[]> {
    const text = await reportOfAny(this.#options.ask);
    if (text === undefined) this.#options.logger.warn('nvidia-smi gave no report, the last known health of GPUs stays');
    const before = this.#linkErrors;
    const now = await this.#askLinks();
    // A card that did not answer, or that is being reset, may still have its faults.
    this.#linkErrors = new Map([...before, ...now]);
    return parseReport(text ?? '').map((facts) => {
      const { uuid } = facts;
      const linkErrors = now.has(uuid) && now.get(uuid)!.repaired > (before.get(uuid)?.repaired ?? Infinity);
      return { ...facts, ...(now.has(uuid) && { linkErrors }) };
    });
  }

  /** Returns the errors of links by card; empty if none answered or it was not asked this time. */
  async #askLinks(): Promise<ReadonlyMap<string, LinkErrors>> {
    const isDue = this.#linkErrors.size > 0 || this.#looks % LINK_SEARCH_LOOKS === 0;
    this.#looks += 1;
    return isDue ? parseLinkErrors((await linkErrorsOfAny(this.#options.ask)) ?? '') : new Map();
  }

  /** Returns the health of all GPUs. A slice has its card's. A card that was never in a report counts as healthy. */
  #healthOfAll(
    real: readonly MachineGpu[],
    cardOf: ReadonlyMap<string, string>,
    report: readonly DriverFacts[],
  ): Map<string, GpuHealth> {
    const events = this.#readEvents();
    this.#facts = new Map([...this.#facts, ...report.map((facts) => [facts.uuid, facts] as const)]);
    this.#throttling = new Map([
      ...this.#throttling,
      ...report.map((facts) => [facts.uuid, throttlingAfter(facts, this.#throttling.get(facts.uuid))] as const),
    ]);
    return new Map(
      real.map(({ uuid }) => {
        const card = cardOf.get(uuid);
        return [uuid, card === undefined ? { ...HEALTHY, fault: NOT_LISTED } : this.#healthOfCard(card, events)];
      }),
    );
  }

  #healthOfCard(uuid: string, events: readonly XidEvent[]): GpuHealth {
    const facts = this.#facts.get(uuid);
    const history = this.#throttling.get(uuid);
    if (!facts || !history) return HEALTHY;
    const lasting = {
      ...facts,
      heat: history.heat.isReported,
      powerBrake: history.powerBrake.isReported,
      linkErrors: history.linkErrors.isReported,
      failedLinks: this.#linkErrors.get(uuid)?.failed ?? 0,
    };
    return classify(
      lasting,
      events.filter(({ pci }) => pci === facts.pci),
    );
  }

  /** Returns the events of the kernel log; none if it cannot be read, which is logged once. */
  #readEvents(): XidEvent[] {
    try {
      return this.#kernelLog.read();
    } catch (error) {
      const { message } = error as Error;
      if (message !== this.#logFault)
        this.#options.logger.warn({ err: error }, 'the kernel log cannot be read, Xid errors of GPUs are not seen');
      this.#logFault = message;
      return [];
    }
  }
}
