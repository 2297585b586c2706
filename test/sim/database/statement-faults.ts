/** Faults that strike at statements. */
export const STATEMENT_FAULTS = [
  'killed before a statement',
  'killed after a commit',
  'cut before a statement',
  'statement late',
  'answer lost',
  'answer late',
  'error 40001',
  'error 40P01',
  'error 53100',
  'error 57P01',
  'error 25006',
  'silent connection',
] as const;
/** Faults of which the replica dies. */
export const KILLS = ['killed before a statement', 'killed after a commit'] as const satisfies StatementFault[];
export type StatementFault = (typeof STATEMENT_FAULTS)[number];

/** Messages of the server, by SQLSTATE. */
export const ERROR_TEXTS: Record<string, string> = {
  '40001': 'could not serialize access due to concurrent update',
  '40P01': 'deadlock detected',
  '53100': 'could not extend file: No space left on device',
  '57P01': 'terminating connection due to administrator command',
  '25006': 'cannot execute statement in a read-only transaction',
};
