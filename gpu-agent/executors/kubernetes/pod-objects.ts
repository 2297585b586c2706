/** Creates and removes the objects of a workload in Kubernetes: its Secrets, its GPU claim and its Pod. */
import type { Logger } from '@slipway/kit/log/logger';
import type { ApiClient } from './api-client.ts';
import { ApiError, isNotFound } from './api-client.ts';
import type { ApiList, ApiPod, ObjectMeta, OwnerReference } from './api-types.ts';
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
  /** Plans whose credentials and claim exist. Another try must not replace a claim that the Pod may have. */
  readonly #provided = new WeakSet<PodPlan>();

  constructor(options: PodObjectsOptions) {
    this.#options = options;
  }

  /**
   * Creates the Pod with its Secrets and GPU claims. `isOurs` is false if another Pod has the name. It is also true if
   * an earlier call with this plan created the Pod and had no response. Rejects with ApiError.
   */
  async create(plan: PodPlan): Promise<{ pod: ApiPod; isOurs: boolean }> {
    const [pull, claim] = [pullSecretOf(plan), claimOf(plan)];
    // A kubelet that does not find the credentials pulls without them.
    if (!this.#provided.has(plan))
      await Promise.all([
        ...(pull ? [this.#put('secrets', pull)] : []),
        ...(claim ? [this.#put('resourceclaims', claim)] : []),
      ]);
    this.#provided.add(plan);
    const pod = await this.#createPod(plan);
    if (pod.metadata.annotations?.[LAUNCH_ANNOTATION] !== plan.nonce) {
      // The caller may remove that Pod, and with it the credentials and the claim of this name.
      this.#provided.delete(plan);
      return { pod, isOurs: false };
    }
    const { name, uid } = pod.metadata;
    const owner = { apiVersion: 'v1', kind: 'Pod', name, uid: uid! };
    // The kubelet waits for the environment, so it can come after the Pod: made with its owner, it never outlives it.
    await Promise.all([this.#put('secrets', envSecretOf(plan, owner)), this.#own(owner, { pull, claim })]);
    return { pod, isOurs: true };
  }

  /** Returns the Pod that a plan created. Tries until the API answers, or until `close` of the ender. */
  async find({ launch: { workloadId }, nonce }: PodPlan): Promise<ApiPod | undefined> {
    const { api, ender } = this.#options;
    const pod = await ender.retry(workloadId, () =>
      api.call<ApiPod>('GET', this.#path('pods', workloadId)).catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      }),
    );
    return pod?.metadata.annotations?.[LAUNCH_ANNOTATION] === nonce ? pod : undefined;
  }

  /** Removes objects of a workload whose Pod is gone. Kubernetes also does it, by their owner. */
  async drop(workloadId: string, has: { env: boolean; pull: boolean; claim: boolean }): Promise<void> {
    const { ender } = this.#options;
    await Promise.all([
      ...(has.env ? [ender.drop(this.#path('secrets', envSecretName(workloadId)))] : []),
      ...(has.pull ? [ender.drop(this.#path('secrets', pullSecretName(workloadId)))] : []),
      ...(has.claim ? [ender.drop(this.#path('resourceclaims', claimName(workloadId)))] : []),
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

  /** Creates the Pod. Returns the Pod that has its name. */
  async #createPod(plan: PodPlan): Promise<ApiPod> {
    const { api } = this.#options;
    try {
      return await api.call<ApiPod>('POST', this.#path('pods'), { body: podOf(plan) });
    } catch (error) {
      if (!isTaken(error)) throw error;
    }
    return api.call<ApiPod>('GET', this.#path('pods', plan.launch.workloadId)).catch((error: unknown) => {
      throw isNotFound(error) ? new ApiError(503, '', 'an earlier Pod of this name was there until now') : error;
    });
  }

  /** Makes a Pod the owner of what was there before it. Without it only the agent removes them. */
  async #own(owner: OwnerReference, { pull, claim }: { pull: object | undefined; claim: object | undefined }) {
    const { api, logger } = this.#options;
    const body = { metadata: { ownerReferences: [owner] } };
    const paths = [
      ...(pull ? [this.#path('secrets', pullSecretName(owner.name))] : []),
      ...(claim ? [this.#path('resourceclaims', claimName(owner.name))] : []),
    ];
    await Promise.all(paths.map((path) => api.call('PATCH', path, { body }))).catch((error: unknown) =>
      logger.warn({ err: error, workloadId: owner.name }, 'the objects of a Pod did not get it as their owner'),
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
