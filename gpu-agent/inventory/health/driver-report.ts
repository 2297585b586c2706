/** Reads what `nvidia-smi -q -x` reports of the health of each card. Pure. */

/** Health of a card, as its driver reports it. A value that the driver does not know is absent. */
export interface DriverFacts {
  uuid: string;
  /** Position on the PCI bus, as `0000:3b:00`. */
  pci: string;
  /** What the driver asks for: `None`, `Reset`, `Reboot`, `Drain P2P` or `Drain and Reset`. */
  recovery?: string;
  resetRequired: boolean;
  /** Uncorrectable errors of its memory since its last reset. */
  uncorrectable: number;
  /** Its SRAM has more errors than NVIDIA allows. */
  isOverThreshold: boolean;
  isUnrepairable: boolean;
  remapFailed: boolean;
  /** Memory rows are remapped at its next reset. */
  repairPending: boolean;
  heat: boolean;
  powerBrake: boolean;
  lanes?: { current: number; max: number };
  /** State of its NVLink fabric, as `Unhealthy`. */
  fabric?: string;
  /** Its NVLinks have repaired errors since the last look. Absent: it has none, or did not report them this time. */
  linkErrors?: boolean;
  /** Recoveries of its NVLinks that failed. */
  failedLinks?: number;
}

/** Begins the part of a card, on a line of its own. */
const CARD = /^[ \t]*<gpu id="[^"\n]*">[ \t]*$/m;
/**
 * Ends the facts of a card: its list of processes begins, whose owners choose the names in it, or there is none. The
 * tool does not escape them.
 */
const END = /<processes>|<\/gpu>/;

/**
 * Returns the facts of each card whose part of the report is complete: the tool may end in the middle. A card that is
 * there twice is left out: the name of a process pretends to be one.
 */
export function parseReport(report: string): DriverFacts[] {
  const whole = report.split(CARD).filter((text, index) => index > 0 && END.test(text));
  const facts = whole.map((text) => factsOf(text.split(END)[0]!));
  return facts.filter(({ uuid }) => facts.filter((other) => other.uuid === uuid).length === 1);
}

/** Returns a position on the PCI bus as `0000:3b:00`, from any of its forms; `undefined` if it has none. */
export function pciOf(text: string): string | undefined {
  const [, domain, bus, device] = /([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})/i.exec(text) ?? [];
  if (domain === undefined) return undefined;
  return `${Number.parseInt(domain, 16).toString(16).padStart(4, '0')}:${bus}:${device}`.toLowerCase();
}

function factsOf(card: string): DriverFacts {
  const text = (tag: string, within = card): string => new RegExp(`<${tag}>([^<]*)</${tag}>`).exec(within)?.[1] ?? '';
  const has = (...tags: string[]): boolean => tags.some((tag) => /^(Yes|Active|1)$/.test(text(tag).trim()));
  const reason = (name: string): boolean => has(`clocks_event_reason_${name}`, `clocks_throttle_reason_${name}`);
  const volatile = /<volatile>([\s\S]*?)<\/volatile>/.exec(card)?.[1] ?? '';
  const fabric = /<fabric>([\s\S]*?)<\/fabric>/.exec(card)?.[1] ?? '';
  const [current, max] = [text('current_link_width'), text('max_link_width')].map((width) =>
    Number.parseInt(width, 10),
  );
  const recovery = known(text('gpu_recovery_action'));
  const health = known(text('summary', fabric));
  return {
    uuid: text('uuid'),
    pci: pciOf(text('pci_bus_id')) ?? '',
    ...(recovery !== undefined && { recovery }),
    resetRequired: has('reset_required'),
    uncorrectable: uncorrectableIn(volatile),
    isOverThreshold: has('sram_threshold_exceeded'),
    isUnrepairable: has('unrepairable_memory'),
    remapFailed: has('remapped_row_failure'),
    repairPending: has(
      ...['remapped_row_pending', 'pending_retirement', 'pending_blacklist'],
      ...['channel_repair_pending', 'tpc_repair_pending'],
    ),
    heat: reason('hw_thermal_slowdown') || reason('sw_thermal_slowdown'),
    powerBrake: reason('hw_power_brake_slowdown'),
    ...(current! > 0 && max! > 0 && { lanes: { current: current!, max: max! } }),
    ...(health !== undefined && { fabric: health }),
  };
}

/** Returns the number of uncorrectable errors in the counters since the last reset, of any age of driver. */
function uncorrectableIn(volatile: string): number {
  const counters = volatile.matchAll(/<(?:s|d)ram_uncorrectable\w*>\s*(\d+)\s*</g);
  const doubleBit = /<double_bit>[\s\S]*?<total>\s*(\d+)\s*</.exec(volatile)?.[1] ?? '0';
  return [...counters].reduce((sum, [, count]) => sum + Number(count), Number(doubleBit));
}

/** Returns a text that says something; `undefined` for the words of a driver that does not know the value. */
function known(text: string): string | undefined {
  const word = text.trim();
  return /^(|N\/A|\[.*\]|.*deprecated|Unknown.*|Not Supported)$/i.test(word) ? undefined : word;
}
