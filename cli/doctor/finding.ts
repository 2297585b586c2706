/** Result of one check of `slipway doctor`. */

/** Result of a check. */
export interface Finding {
  /** Name of the check. */
  check: string;
  status: 'ok' | 'warn' | 'fail';
  /** Facts, for people. */
  detail: string;
  /** Remedy. Empty if nothing is to be done. */
  fix: string;
}

/** Returns a finding that asks for nothing. */
export function ok(check: string, detail: string): Finding {
  return { check, status: 'ok', detail, fix: '' };
}

/** Returns a finding that will hurt some day, or only some uses. */
export function warn(check: string, detail: string, fix: string): Finding {
  return { check, status: 'warn', detail, fix };
}

/** Returns a finding that keeps the part from working. */
export function fail(check: string, detail: string, fix: string): Finding {
  return { check, status: 'fail', detail, fix };
}
