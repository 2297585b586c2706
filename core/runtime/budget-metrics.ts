/** How full the bounds of memory are, for Prometheus: each has a name, what counts against it, and how much may. */
import type { Metrics } from './metrics.ts';

/** What a budget holds. */
export interface BudgetFill {
  bytes: number;
  bytesMax: number;
  /** How many wait for room. Absent: what finds none is refused. */
  waiting?: number;
}

/** Hears of budgets. */
export interface BudgetMeter {
  /** There is a budget of this name; how full it is may be asked at any time. */
  watch(name: string, fill: () => BudgetFill): void;
}

/** Makes the metrics. `prefix`: how their names begin, `slipway_core`. */
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
  gauge('memory_bytes', 'Bytes in memory that count against a budget.', ({ bytes }) => bytes);
  gauge('memory_limit_bytes', 'Bytes that may count against it; what finds no room waits or is refused.', ({ bytesMax }) => bytesMax);
  gauge('memory_waiting', 'How many wait for room in memory.', ({ waiting }) => waiting);
  return { watch: (name, fill) => void budgets.set(name, fill) };
}
