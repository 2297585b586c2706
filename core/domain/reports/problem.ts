/** All kinds of problems. docs/operate/alerts.md has a section for each; receivers of alerts get its address. */
export const PROBLEM_KINDS = [
  'CANNOT_RUN',
  'SECRET_UNKNOWN',
  'SECRET_UNREADABLE',
  'SECRET_OF_FOREIGN_TEMPLATE',
  'ENV_TOO_LARGE',
  'WORKERS_CRASHED',
  'RELEASE_HELD',
  'MODEL_FAILED',
  'OLD_QUEUE',
  'WORKERS_NOT_USED',
  'WEBHOOKS_GIVEN_UP',
  'NO_PLACE',
  'WORKERS_MAX',
  'QUEUE_LENGTH',
  'QUOTA',
  'QUEUED_JOBS',
  'REQUEST_QUOTA',
  'FAIR_SHARE',
  'KEPT_GPUS',
  'GAVE_WAY',
  'AT_ONCE',
  'REQUEST_RATE',
  'REQUESTS_AT_ONCE',
  'POD_FAILED',
  'POD_MACHINE_DRAINED',
  'MACHINE_AWAY',
  'GPU_UNHEALTHY',
  'GPU_WARNING',
  'AGENT_NOT_SERVED',
  'MACHINE_CORDONED',
  'DATABASE_DISK',
  'DATABASE_READ_ONLY',
] as const;

export type ProblemKind = (typeof PROBLEM_KINDS)[number];

/** A current problem, as it is listed. */
export interface Problem {
  kind: ProblemKind;
  /** True if it will not end by itself, or if something was lost. Otherwise jobs or requests only wait. */
  broken: boolean;
  about: 'ENDPOINT' | 'POD' | 'MACHINE' | 'ACCOUNT' | 'DATABASE';
  id: string;
  name: string;
  /** Empty for a machine and the database. */
  accountId: string;
  /** An affected job. Empty: none. */
  jobId: string;
  text: string;
}
