/** What the console's server tells its page of what jobs failed of. Times are milliseconds since 1970. */

/** Jobs whose errors differ in numbers and ids only. */
export interface ErrorGroupView {
  id: string;
  /** What they share. */
  text: string;
  jobs: number;
  firstMs: number;
  lastMs: number;
  /** The newest, the newest first; all where the group was asked for. */
  jobIds: readonly string[];
  /** The error of the newest. */
  sample: string;
}

/** The groups with the most jobs. */
export interface ErrorsView {
  nowMs: number;
  groups: readonly ErrorGroupView[];
  /** All groups, and all jobs that were looked at. */
  groupCount: number;
  jobs: number;
  /** There are older failed jobs that were not looked at. */
  hasMore: boolean;
}
