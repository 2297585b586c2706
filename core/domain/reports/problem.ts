/** A current problem, as it is listed. */
export interface Problem {
  kind: string;
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
