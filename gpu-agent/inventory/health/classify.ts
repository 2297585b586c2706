/**
 * Decides how healthy a card is: ok, warning or failed. Pure. docs/operate/gpu-health.md lists every sign; a test holds
 * the two together.
 */

import type { DriverFacts } from './driver-report.ts';
import type { XidEvent } from './kernel-log.ts';

/** Health of a card. */
export interface GpuHealth {
  /** Reason for which nothing may run on it. Empty if it has not failed. */
  fault: string;
  /** Warning; the card stays in use. Empty if there is none. */
  warning: string;
  /**
   * Latest event of the kernel log for which it has failed. Empty: it has not, or the driver itself reports the fault,
   * which ends when the driver says so.
   */
  faultMark: string;
}

/** A sign of bad health. */
interface Sign {
  level: 'WARNING' | 'FAILED';
  text: string;
  /** Its event of the kernel log. */
  mark?: string;
}

export const HEALTHY: GpuHealth = { fault: '', warning: '', faultMark: '' };
export const NOT_LISTED = 'the driver does not list it any more';

/**
 * Meaning of Xid codes, by NVIDIA's catalogue of October 2025 (docs.nvidia.com/deploy/xid-errors). A card has failed
 * where the catalogue says to reset it, to restart its machine, or to follow a procedure for memory or NVLink. Codes
 * that are not here are errors of the program on the card (13, 31, 43, 45 …) and no sign of its health.
 */
export const XIDS: Readonly<Record<number, readonly [level: 'WARNING' | 'FAILED', meaning: string]>> = {
  46: ['FAILED', 'it stopped processing'],
  48: ['FAILED', 'uncorrectable memory error'],
  54: ['WARNING', 'its auxiliary power is not connected'],
  62: ['FAILED', 'its microcontroller halted'],
  63: ['WARNING', 'a part of its memory is replaced at the next reset'],
  64: ['FAILED', 'a part of its memory could not be replaced'],
  74: ['FAILED', 'NVLink error'],
  79: ['FAILED', 'it fell off the bus'],
  92: ['WARNING', 'many correctable memory errors'],
  94: ['WARNING', 'memory error, contained in one program'],
  95: ['FAILED', 'memory error that was not contained'],
  109: ['FAILED', 'a program did not leave it in time'],
  110: ['FAILED', 'security fault'],
  119: ['FAILED', 'its system processor does not answer'],
  120: ['FAILED', 'its system processor failed'],
  136: ['FAILED', 'an NVLink did not come up'],
  140: ['FAILED', 'memory error that was not recovered'],
  143: ['FAILED', 'it could not be initialized'],
  144: ['FAILED', 'NVLink error, SAW'],
  145: ['FAILED', 'NVLink error, RLW'],
  146: ['FAILED', 'NVLink error, TLW'],
  147: ['FAILED', 'NVLink error, TREX'],
  148: ['FAILED', 'NVLink error, NVLPW_CTRL'],
  149: ['FAILED', 'NVLink error, NETIR'],
  150: ['FAILED', 'NVLink error, MSE'],
  155: ['FAILED', 'NVLink error that its driver found'],
  156: ['WARNING', 'a part of it is retired at the next reset'],
  157: ['WARNING', 'a part of it could not be retired'],
  158: ['FAILED', 'it did not answer in time'],
};

/** Returns the health of a listed card. `events`: those of this card, the latest of each code. */
export function classify(facts: DriverFacts, events: readonly XidEvent[]): GpuHealth {
  const signs = [...driverSigns(facts), ...eventSigns(facts, events)];
  const failed = signs.filter(({ level }) => level === 'FAILED');
  const isEvent = failed.every(({ mark }) => mark !== undefined);
  return {
    fault: textOf(failed),
    warning: textOf(signs.filter(({ level }) => level === 'WARNING')),
    faultMark: isEvent
      ? (failed
          .map(({ mark }) => mark!)
          .toSorted()
          .at(-1) ?? '')
      : '',
  };
}

function driverSigns(facts: DriverFacts): Sign[] {
  const { recovery, lanes, uncorrectable, fabric, linkErrors, failedLinks } = facts;
  const failed = (is: boolean, text: string): Sign[] => (is ? [{ level: 'FAILED', text }] : []);
  const warning = (is: boolean, text: string): Sign[] => (is ? [{ level: 'WARNING', text }] : []);
  const isDrain = recovery?.startsWith('Drain') === true;
  return [
    ...failed(facts.remapFailed, 'rows of its memory failed and could not be replaced (remapped_rows.failure)'),
    ...failed(facts.isUnrepairable, 'its memory cannot be repaired'),
    ...failed(facts.isOverThreshold, 'more uncorrectable errors in its SRAM than the maker allows'),
    ...failed(facts.resetRequired, 'its driver asks for a reset'),
    // Without their number: each change of the text opens a new session.
    ...failed((failedLinks ?? 0) > 0, 'its NVLinks failed to recover'),
    ...failed(asks(recovery) && !isDrain, `its driver asks for: ${recovery}`),
    ...warning(isDrain, `its driver asks for: ${recovery}`),
    ...warning(facts.repairPending, 'a part of its memory is replaced at the next reset'),
    ...warning(uncorrectable > 0, `${uncorrectable} uncorrectable memory errors since its last reset`),
    ...warning(facts.heat, 'slowed down by heat'),
    ...warning(facts.powerBrake, 'slowed down by its power supply'),
    ...warning(linkErrors === true, 'its NVLinks repair errors all the time'),
    ...warning(lanes !== undefined && lanes.current < lanes.max, `PCIe runs ${lanes?.current} of ${lanes?.max} lanes`),
    ...warning(fabric !== undefined && fabric !== 'Healthy', `its NVLink fabric is ${fabric?.toLowerCase()}`),
  ];
}

/** Returns the signs of events. They only warn if the driver itself says that nothing need be done. */
function eventSigns({ recovery }: DriverFacts, events: readonly XidEvent[]): Sign[] {
  return events.flatMap(({ code, mark }): Sign[] => {
    const [level, meaning] = XIDS[code] ?? [];
    if (level === undefined) return [];
    return [{ level: recovery === 'None' ? 'WARNING' : level, text: `Xid ${code}: ${meaning}`, mark }];
  });
}

function asks(recovery: string | undefined): boolean {
  return recovery !== undefined && recovery !== 'None';
}

function textOf(signs: readonly Sign[]): string {
  return signs.map(({ text }) => text).join('; ');
}
