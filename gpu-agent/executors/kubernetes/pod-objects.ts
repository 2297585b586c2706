/** Creates and removes the objects of a workload in Kubernetes: its Secrets, its GPU claim and its Pod. */
import type { Logger } from '@slipway/kit/log/logger';
import type { ApiClient } from './api-client.ts';
import { ApiError } from './api-client.ts';
import type { ApiList, ApiPod, ObjectMeta } from './api-types.ts';
import type { PodEnder } from './pod-ender.ts';
import {
  claimName,
  envSecretName,
  LAUNCH_ANNOTATION,
  POD_MACHINE_LABEL,
  POD_WORKLOAD_LABEL,
  pullSecretName,
} from './pod-labels.ts';
import type { PodPlan } from './pod-plan.ts';
import { claimOf, envSecretOf, podOf, pullSecretOf } from './pod-plan.ts';

/** Options of PodObjects. */
interface PodObjectsOptions {
  api: ApiClient;
  namespace: string;
  ender: PodEnder;
  logger: Logger;
}

type Kind = 'pods' | 'secrets' | 'resourceclaims';

export class PodObjects {
  readonly #options: PodObjectsOptions;

  constructor(options: PodObjectsOptions) {
    this.#options = options;
  }

  /**
   * Creates everything that the Pod needs, and then the Pod. Returns the Pod that this plan created, also if an
   * earlier call had no response; `undefined` if another Pod has the name. Rejects with ApiError.
   */
  async create(plan: PodPlan): Promise<ApiPod | undefined> {
    const [pull, claim] = [pullSecretOf(plan), claimOf(plan)];
    await Promise.all([
      this.#put('secrets', envSecretOf(plan)),
      ...(pull ? [this.#put('secrets', pull)] : []),
      ...(claim ? [this.#put('resourceclaims', claim)] : []),
    ]);
    const pod = await this.#createPod(plan);
    if (pod) await this.#own(pod, plan.launch.workloadId, { pull, claim });
    return pod;
  }

  /** Removes the objects of a workload whose Pod is gone. Kubernetes also does it, by their owner. */
  async drop(workloadId: string, hasClaim: boolean): Promise<void> {
    const { ender } = this.#options;
    await Promise.all([
      ender.drop(this.#path('secrets', envSecretName(workloadId))),
      ender.drop(this.#path('secrets', pullSecretName(workloadId))),
      ...(hasClaim ? [ender.drop(this.#path('resourceclaims', claimName(workloadId)))] : []),
    ]);
  }

  /** Removes the Secrets and claims of a machine whose workloads are not in `keep`. Rejects with ApiError. */
  async sweep(machineId: string, keep: ReadonlySet<string>, hasClaims: boolean): Promise<void> {
    for (const kind of ['secrets', ...(hasClaims ? (['resourceclaims'] as const) : [])] as const) {
      const query = { labelSelector: `${POD_MACHINE_LABEL}=${machineId}` };
      const found = await this.#options.api.call<ApiList<{ metadata: ObjectMeta }>>('GET', this.#path(kind), { query });
      const left = found.items.filter(({ metadata }) => !keep.has(metadata.labels?.[POD_WORKLOAD_LABEL] ?? ''));
      await Promise.all(left.map(({ metadata }) => this.#options.ender.drop(this.#path(kind, metadata.name))));
    }
  }

  /** Creates an object. Replaces an object that an earlier Pod of the workload left. */
  async #put(kind: Kind, object: object): Promise<void> {
    const { api, ender } = this.#options;
    const create = (): Promise<unknown> => api.call('POST', this.#path(kind), { body: object });
    await create().catch(async (error: unknown) => {
      if (!isTaken(error)) throw error;
      await ender.drop(this.#path(kind, (object as { metadata: ObjectMeta }).metadata.name));
      await create();
    });
  }

  async #createPod(plan: PodPlan): Promise<ApiPod | undefined> {
    const { api } = this.#options;
    try {
      return await api.call<ApiPod>('POST', this.#path('pods'), { body: podOf(plan) });
    } catch (error) {
      if (!isTaken(error)) throw error;
      const found = await api.call<ApiPod>('GET', this.#path('pods', plan.launch.workloadId));
      return found.metadata.annotations?.[LAUNCH_ANNOTATION] === plan.nonce ? found : undefined;
    }
  }

  /** Makes the Pod the owner of its objects. Without it only the agent removes them. */
  async #own(
    pod: ApiPod,
    workloadId: string,
    { pull, claim }: { pull?: object | undefined; claim?: object | undefined },
  ) {
    const { api, logger } = this.#options;
    const { name, uid } = pod.metadata;
    const body = { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid }] } };
    const paths = [
      this.#path('secrets', envSecretName(workloadId)),
      ...(pull ? [this.#path('secrets', pullSecretName(workloadId))] : []),
      ...(claim ? [this.#path('resourceclaims', claimName(workloadId))] : []),
    ];
    await Promise.all(paths.map((path) => api.call('PATCH', path, { body }))).catch((error: unknown) =>
      logger.warn({ err: error, workloadId }, 'the objects of a Pod did not get it as their owner'),
    );
  }

  #path(kind: Kind, name?: string): string {
    const group = kind === 'resourceclaims' ? '/apis/resource.k8s.io/v1' : '/api/v1';
    return `${group}/namespaces/${this.#options.namespace}/${kind}${name === undefined ? '' : `/${name}`}`;
  }
}

function isTaken(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409 && error.reason === 'AlreadyExists';
}
