/** Reads processors and memory in use by this machine's Pods from the metrics API (metrics-server), if there is one. */
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import type { WorkloadUse } from '../executor.ts';
import type { ApiClient } from './api-client.ts';
import { ApiError } from './api-client.ts';
import type { ApiList, ObjectMeta } from './api-types.ts';
import { quantity } from './node-gpus.ts';

/** Age at which figures are read again, in milliseconds. A metrics-server measures every 15 s or more. */
const AGE_MS_MAX = 20_000;
/** Pause after a failure that may pass, in milliseconds. A slow call keeps one of the few connections for its time. */
const RETRY_MS = 60_000;
/** Pause after any other failure, in milliseconds: most clusters without the API never get it. */
const FAILED_MS = 300_000;
const TIMEOUT_MS = 5_000;
const MIB = 1024 ** 2;

/** Metrics of a Pod. */
interface ApiPodMetrics {
  metadata: ObjectMeta;
  containers?: { usage?: { cpu?: string; memory?: string } }[];
}

/** Options of PodUses. */
interface PodUsesOptions {
  api: Pick<ApiClient, 'call'>;
  namespace: string;
  labelSelector: string;
  clock: Clock;
  logger: Logger;
}

export class PodUses {
  readonly #options: PodUsesOptions;
  #uses: Promise<ReadonlyMap<string, WorkloadUse>> = Promise.resolve(new Map());
  #readAgainAtMs = -Infinity;
  #warned = false;

  constructor(options: PodUsesOptions) {
    this.#options = options;
  }

  /** Returns what a Pod uses; `undefined` if it is not known. Never rejects. */
  async of(pod: string): Promise<WorkloadUse | undefined> {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs >= this.#readAgainAtMs) {
      this.#readAgainAtMs = nowMs + AGE_MS_MAX;
      this.#uses = this.#read();
    }
    return (await this.#uses).get(pod);
  }

  async #read(): Promise<ReadonlyMap<string, WorkloadUse>> {
    const { api, namespace, labelSelector, clock, logger } = this.#options;
    try {
      const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods`;
      const options = { query: { labelSelector }, timeoutMs: TIMEOUT_MS };
      const { items } = await api.call<ApiList<ApiPodMetrics>>('GET', path, options);
      return new Map(items.flatMap((item) => useOf(item) ?? []));
    } catch (error) {
      const mayPass = error instanceof ApiError && error.mayPass;
      this.#readAgainAtMs = clock.monotonicMs() + (mayPass ? RETRY_MS : FAILED_MS);
      const isMissing = error instanceof ApiError && error.status === 404;
      if (!isMissing && !this.#warned)
        logger.warn(
          { reason: (error as Error).message },
          'the metrics API cannot be read: the use of Pods is not known',
        );
      this.#warned ||= !isMissing;
      return new Map();
    }
  }
}

/** Returns the name and the use of a Pod. `undefined` if a container of it is not measured: a sum would be wrong. */
function useOf({ metadata, containers = [] }: ApiPodMetrics): [string, WorkloadUse][] | undefined {
  let processors = 0;
  let bytes = 0;
  for (const { usage } of containers) {
    if (usage?.cpu === undefined || usage.memory === undefined) return undefined;
    processors += quantity(usage.cpu);
    bytes += quantity(usage.memory);
  }
  const use = { processors: Math.round(processors * 100) / 100, memoryUsedMib: Math.round(bytes / MIB) };
  return containers.length === 0 ? undefined : [[metadata.name, use]];
}
