/** Metrics of cached models. docs/reference/metrics.md describes each. */
import type { Metrics } from '@slipway/kit/observe/metrics';
import { CALL_SECONDS } from '@slipway/kit/observe/metrics';

/** Callbacks about downloads of models. */
export interface ModelMeter {
  /** Called when a download ended. `tookMs`: its duration in milliseconds. */
  onModel(result: (typeof RESULTS)[number], tookMs: number): void;
  /** Called when bytes arrived from the hub or from another machine. */
  onModelBytes(source: (typeof SOURCES)[number], bytes: number): void;
}

/** Disk of models, in bytes. */
interface ModelDisk {
  usedBytes: number;
  limitBytes: number;
}

const RESULTS = ['downloaded', 'failed', 'abandoned'] as const;
const SOURCES = ['hub', 'machine'] as const;
const DOWNLOAD_SECONDS = [...CALL_SECONDS, 600, 1_800, 7_200];

/** Registers the metrics and returns the callbacks. `disk` is read at each scrape. */
export function modelMetrics(metrics: Metrics, disk: () => ModelDisk): ModelMeter {
  metrics.gauge({ name: 'slipway_agent_model_disk_bytes', help: 'Disk that cached models take.' }, (gauge) =>
    gauge.set(disk().usedBytes),
  );
  metrics.gauge(
    { name: 'slipway_agent_model_disk_limit_bytes', help: 'Disk that cached models may take; 0: none is kept.' },
    (gauge) => gauge.set(disk().limitBytes),
  );
  const downloads = metrics.counter(
    {
      name: 'slipway_agent_model_downloads_total',
      help: 'Downloads of cached models that ended, by result.',
      labels: ['result'],
    },
    RESULTS,
  );
  const seconds = metrics.histogram(
    { name: 'slipway_agent_model_download_seconds', help: 'Duration of successful downloads of cached models.' },
    DOWNLOAD_SECONDS,
  );
  const received = metrics.counter(
    {
      name: 'slipway_agent_model_received_bytes_total',
      help: 'Bytes of cached models that arrived from the hub or another machine.',
      labels: ['source'],
    },
    SOURCES,
  );
  return {
    onModel: (result, tookMs) => {
      downloads.inc({ result });
      if (result === 'downloaded') seconds.observe(tookMs / 1_000);
    },
    onModelBytes: (source, bytes) => received.inc({ source }, bytes),
  };
}
