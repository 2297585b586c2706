/** Reads metrics as Prometheus does. */

/** One metric with its series. */
export interface Metric {
  name: string;
  type: string;
  help: string;
  /** Label names of its series, without what the format itself adds. */
  labels: Set<string>;
  samples: { name: string; labels: Record<string, string>; value: number }[];
}

/** Returns all metrics of a process that listens at host:port. */
export async function readMetrics(address: string): Promise<Map<string, Metric>> {
  const answer = await fetch(`http://${address}/metrics`);
  if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`);
  return parseMetrics(await answer.text());
}

/** Parses the text format of Prometheus. */
export function parseMetrics(text: string): Map<string, Metric> {
  const metrics = new Map<string, Metric>();
  let metric: Metric | undefined;
  for (const line of text.split('\n')) {
    const [, name, help] = /^# HELP (\S+) (.*)$/.exec(line) ?? [];
    if (name !== undefined)
      metrics.set(name, (metric = { name, help: help!, type: '', labels: new Set(), samples: [] }));
    const [, type] = /^# TYPE \S+ (\S+)$/.exec(line) ?? [];
    if (type !== undefined) metric!.type = type;
    const [, sample, given = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (sample === undefined) continue;
    const labels = Object.fromEntries(
      [...given.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map((match) => [match[1]!, match[2]!]),
    );
    metric!.samples.push({ name: sample, labels, value: Number(value) });
    for (const label of Object.keys(labels)) if (label !== 'le' && label !== 'quantile') metric!.labels.add(label);
  }
  return metrics;
}

/** Returns the value of a series; 0 when there is none. */
export function valueOf(
  metrics: ReadonlyMap<string, Metric>,
  name: string,
  labels: Record<string, string> = {},
): number {
  const all = [...metrics.values()].flatMap(({ samples }) => samples);
  const isMeant = (sample: Metric['samples'][number]): boolean =>
    sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value);
  return all.filter(isMeant).reduce((sum, { value }) => sum + value, 0);
}
