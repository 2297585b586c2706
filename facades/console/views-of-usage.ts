/** Usage as the console's server sends it to the page. Times are ISO 8601. */

/** What was used in a period by one group. */
export interface UsageRecordView {
  /** When the period begins, ISO 8601. */
  time: string;
  /** Empty: all groups that have no record of their own, together. */
  group: string;
  /** For people. */
  name: string;
  /** US dollars. */
  amount: number;
  billedMs: number;
}

/** Groups of usage that a chart draws by themselves, those that cost most. */
export const USAGE_TOP = 5;

/** Usage in the course of a time, as charts draw it; periods without any are left out. */
export interface UsageView {
  startMs: number;
  endMs: number;
  /** In all. */
  amount: number;
  billedMs: number;
  groupCount: number;
  /** Of USAGE_TOP groups, and of all others together. */
  records: readonly UsageRecordView[];
}
