/** Prometheus gauges of memory budgets: use, limit and number of waiters of each. */
import type { Metrics } from './metrics.ts';

/** Use and limit of a budget. */
export interface BudgetFill {
  bytes: number;
  bytesMax: number;
  /** Number of waiters. Absent if the budget rejects instead of making callers wait. */
  waiting?: number;
}

/** Registry of budgets to report. */
export interface BudgetMeter {
  /** Registers a budget. `fill` is called at each scrape. */
  watch(name: string, fill: () => BudgetFill): void;
}

/** Registers the gauges. `prefix` begins their names, for example `slipway_core`. */
export function budgetMetrics(metrics: Metrics, prefix: string): BudgetMeter {
  const budgets = new Map<string, () => BudgetFill>();
  const gauge = (name: string, help: string, value: (fill: BudgetFill) => number | undefined): void => {
    metrics.gauge({ name: `${prefix}_${name}`, help, labels: ['budget'] }, (one) => {
      for (const [budget, fill] of budgets) {
        const shown = value(fill());
        if (shown !== undefined) one.set({ budget }, shown);
      }
    });
  };
  gauge('memory_bytes', 'Memory in use by a budget.', ({ bytes }) => bytes);
  gauge('memory_limit_bytes', 'Size of the budget; what exceeds it waits or is rejected.', ({ bytesMax }) => bytesMax);
  gauge('memory_waiting', 'Number of waiters for the budget.', ({ waiting }) => waiting);
  return { watch: (name, fill) => void budgets.set(name, fill) };
}
