/** Usage as the console's server sends it to the page. Times are ISO 8601. */

/** Usage of one group in one period. */
export interface UsageRecordView {
  /** When the period begins, ISO 8601. */
  time: string;
  /** Empty for the sum of all groups that have no record of their own. */
  group: string;
  /** For people. */
  name: string;
  /** US dollars. */
  amount: number;
  billedMs: number;
}

/** Number of groups that a chart draws by themselves: the most expensive ones. */
export const USAGE_TOP = 5;

/** Usage over time, as charts draw it. Periods without usage are left out. */
export interface UsageView {
  startMs: number;
  endMs: number;
  /** In all. */
  amount: number;
  billedMs: number;
  groupCount: number;
  /** Records of USAGE_TOP groups, and the sum of all others. */
  records: readonly UsageRecordView[];
}
