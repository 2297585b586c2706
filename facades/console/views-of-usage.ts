/** Usage as the console's server sends it to the page. Times are ISO 8601. */

/** Usage of one group in one period. */
export interface UsageRecordView {
  /** Start of the period, ISO 8601. */
  time: string;
  /** Empty for the sum of all groups without their own record. */
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
  /** Total amount. */
  amount: number;
  billedMs: number;
  groupCount: number;
  /** Records of USAGE_TOP groups, and the sum of all others. */
  records: readonly UsageRecordView[];
}
