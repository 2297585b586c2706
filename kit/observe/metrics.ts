/**
 * Metrics of a process for Prometheus. Each core, facade and agent has its own registry, which is handed down, because
 * several run in one process of a test.
 */
import type { Metric } from 'prom-client';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { SeriesHistogram } from './series-histogram.ts';

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
   * Makes a counter. `known`: values of its only label that are reported as 0 from the start, because Prometheus sees
   * no increase from no value to 1. `read` is called at each scrape and adds to it.
   */
  counter<Label extends string = never>(
    { name, help, labels = [] }: Described<Label>,
    known: readonly string[] = [],
    read?: (counter: Counter<Label>) => void,
  ): Counter<Label> {
    const counter = new Counter({
      name,
      help,
      labelNames: [...labels],
      registers: [this.#registry],
      ...(read && {
        collect(this: Counter<Label>) {
          read(this);
        },
      }),
    });
    for (const value of known) counter.labels(value).inc(0);
    return counter;
  }

  /** Makes a gauge. `read` is called at each scrape and sets it. Default: the owner of the gauge sets it. */
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

  /** Makes a histogram with one label for what is measured once per job or request. */
  seriesHistogram<Label extends string>(
    described: { name: string; help: string; label: Label },
    buckets: readonly number[],
  ): SeriesHistogram<Label> {
    const histogram = new SeriesHistogram(described, buckets);
    // prom-client reads a metric by its name and `get` only.
    this.#registry.registerMetric(histogram as unknown as Metric);
    return histogram;
  }

  /**
   * Adds processor time, memory, garbage collection and the lag of the event loop. Call it only where metrics are
   * served: it keeps a timer running.
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
