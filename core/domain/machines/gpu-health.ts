/** Health of a GPU: what its agent reports, and what its operator decided about it. Pure. */

/** Health as the agent reports it. For the meaning of each field see machine.proto. */
interface ReportedHealth {
  fault: string;
  warning: string;
  faultMark: string;
}

/** Decisions of the operator. */
interface GpuDecision {
  cordoned?: true;
  /** Latest event of the kernel log when the operator returned the GPU to service. */
  cleared?: string;
}

/** Health as placement and people see it. Absent fields: healthy, not cordoned. */
interface SeenHealth {
  unhealthy?: string;
  warning?: string;
  cordoned?: true;
  reported?: ReportedHealth;
}

type GpuLevel = 'OK' | 'WARNING' | 'FAILED' | 'CORDONED';

/** A change of a GPU's health. */
export interface GpuEvent {
  gpuUuid: string;
  level: GpuLevel;
  /** Human-readable fault or warning. Empty if the GPU was healthy. */
  text: string;
  atMs: number;
}

const CORDONED_TEXT = 'its operator cordoned it';

/** Returns the health of a GPU from its agent's report and its operator's decisions. */
export function seenHealth(reported: ReportedHealth, mark: GpuDecision | undefined): SeenHealth {
  const isBack = reported.fault !== '' && isCleared(reported.faultMark, mark?.cleared);
  const fault = isBack ? '' : reported.fault;
  const warnings = [isBack ? `put back by its operator after: ${reported.fault}` : '', reported.warning];
  const unhealthy = fault || (mark?.cordoned ? CORDONED_TEXT : '');
  const warning = warnings.filter(Boolean).join('; ');
  return {
    ...(unhealthy !== '' && { unhealthy }),
    ...(warning !== '' && { warning }),
    ...(mark?.cordoned && { cordoned: true as const }),
    ...((reported.fault !== '' || reported.warning !== '') && { reported }),
  };
}

/** Returns the mark after the operator cordoned a GPU or put it back. `undefined`: there is nothing to remember. */
export function markAfter(
  cordoned: boolean,
  before: GpuDecision | undefined,
  faultMark: string,
): GpuDecision | undefined {
  const cleared = cordoned ? before?.cleared : faultMark || before?.cleared;
  const mark = { ...(cordoned && { cordoned: true as const }), ...(cleared && { cleared }) };
  return Object.keys(mark).length === 0 ? undefined : mark;
}

/** Returns the level of a GPU, and why it has this level. */
export function levelOf({ unhealthy = '', warning = '', cordoned, reported }: SeenHealth): {
  level: GpuLevel;
  text: string;
} {
  if (unhealthy !== '') {
    const level = cordoned && unhealthy !== reported?.fault ? 'CORDONED' : 'FAILED';
    return { level, text: unhealthy };
  }
  return { level: warning === '' ? 'OK' : 'WARNING', text: warning };
}

/** Returns whether a fault is cleared. Events of one boot are compared as text; those of another boot are new. */
function isCleared(faultMark: string, cleared: string | undefined): boolean {
  if (faultMark === '' || cleared === undefined) return false;
  return bootOf(faultMark) === bootOf(cleared) && faultMark <= cleared;
}

function bootOf(mark: string): string {
  return mark.split('/')[0]!;
}
