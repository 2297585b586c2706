/** Error groups as the console's server sends them to the page. Times are milliseconds since 1970. */

/** Jobs whose errors differ in numbers and ids only. */
export interface ErrorGroupView {
  id: string;
  /** Text that the errors share. */
  text: string;
  jobs: number;
  firstMs: number;
  lastMs: number;
  /** Newest jobs first. All jobs if the group was requested. */
  jobIds: readonly string[];
  /** Error of the newest job. */
  sample: string;
}

/** Groups with the most jobs. */
export interface ErrorsView {
  nowMs: number;
  groups: readonly ErrorGroupView[];
  /** Number of all groups, and of all jobs that were read. */
  groupCount: number;
  jobs: number;
  /** There are older failed jobs that were not read. */
  hasMore: boolean;
}
