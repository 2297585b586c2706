/**
 * Numbers about a process, for Prometheus. Each core, facade and agent has a registry of its own, which is handed down:
 * several run in one process of a test. prom-client is what Node services expose metrics with: it has the text format,
 * histograms and the measures of Node itself.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** Description of a metric. */
interface Described<Label extends string> {
  /** Begins with `slipway_`; base units; a counter ends with `_total`. docs/reference/metrics.md has each. */
  name: string;
  help: string;
  labels?: readonly Label[];
}

/** Upper bounds in seconds: of calls, and of jobs, which may wait and run for hours. */
export const CALL_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120];
export const JOB_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600];
/** Upper bounds of items in a batch. */
export const BATCH_ITEMS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000];

export class Metrics {
  readonly #registry = new Registry();
  #measuresNode = false;

  /**
   * `known`: values of its one label, which are told from the start: from nothing to 1 is no increase to Prometheus,
   * from 0 to 1 is.
   */
  counter<Label extends string = never>(
    { name, help, labels = [] }: Described<Label>,
    known: readonly string[] = [],
  ): Counter<Label> {
    const counter = new Counter({ name, help, labelNames: [...labels], registers: [this.#registry] });
    for (const value of known) counter.labels(value).inc(0);
    return counter;
  }

  /** `read` is called at each reading and sets it. */
  gauge<Label extends string = never>(
    { name, help, labels = [] }: Described<Label>,
    read?: (gauge: Gauge<Label>) => void | Promise<void>,
  ): Gauge<Label> {
    return new Gauge({
      name,
      help,
      labelNames: [...labels],
      registers: [this.#registry],
      ...(read && {
        collect(this: Gauge<Label>) {
          return read(this);
        },
      }),
    });
  }

  histogram<Label extends string = never>(
    { name, help, labels = [] }: Described<Label>,
    buckets: readonly number[],
  ): Histogram<Label> {
    return new Histogram({ name, help, labelNames: [...labels], buckets: [...buckets], registers: [this.#registry] });
  }

  /**
   * Adds processor time, memory, garbage collection and the lag of the event loop. Only where somebody reads: it keeps
   * a timer going.
   */
  measureNode(): void {
    if (this.#measuresNode) return;
    this.#measuresNode = true;
    collectDefaultMetrics({ register: this.#registry });
  }

  /** Returns all metrics in the text format of Prometheus. */
  async read(): Promise<{ type: string; text: string }> {
    return { type: this.#registry.contentType, text: await this.#registry.metrics() };
  }
}
