/** Error groups as the console's server sends them to the page. Times are milliseconds since 1970. */

/** Jobs whose errors differ in numbers and ids only. */
export interface ErrorGroupView {
  id: string;
  /** The text that they share. */
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
  /** Number of all groups, and of all jobs that were read. */
  groupCount: number;
  jobs: number;
  /** There are older failed jobs that were not read. */
  hasMore: boolean;
}
