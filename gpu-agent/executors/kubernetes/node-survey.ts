/** Reads what Kubernetes knows of the agent's node: its size, images and GPUs, and who else uses them. */
import type { Logger } from '@slipway/kit/log/logger';
import type { ApiClient } from './api-client.ts';
import { ApiError } from './api-client.ts';
import type { ApiList, ApiNode, ApiPod, ApiResourceClaim, ApiResourceSlice, OwnerReference } from './api-types.ts';
import type { NodeGpus } from './node-gpus.ts';
import { gpusOf, occupants, quantity } from './node-gpus.ts';
import { POD_MACHINE_LABEL } from './pod-labels.ts';

const DEVICES = '/apis/resource.k8s.io/v1';
const MIB = 1024 ** 2;

export class NodeSurvey {
  readonly #api: ApiClient;
  readonly #node: string;
  readonly #logger: Logger;
  readonly #warned = new Set<string>();

  constructor(api: ApiClient, node: string, logger: Logger) {
    this.#api = api;
    this.#node = node;
    this.#logger = logger;
  }

  /** Returns the version of the API server. Rejects with ApiError. */
  async version(): Promise<string> {
    const { gitVersion } = await this.#api.call<{ gitVersion: string }>('GET', '/version');
    return gitVersion;
  }

  /** Returns the node, from the API server's cache. Rejects with ApiError. */
  node(): Promise<ApiNode> {
    return this.#api.call<ApiNode>('GET', `/api/v1/nodes/${this.#node}`, { query: { resourceVersion: '0' } });
  }

  /** Returns the GPUs of a node. Rejects with ApiError. */
  async gpus(node: ApiNode): Promise<NodeGpus> {
    const query = { fieldSelector: `spec.nodeName=${this.#node}` };
    const slices = await this.#listed<ApiResourceSlice>(`${DEVICES}/resourceslices`, query, 'DRA is not used');
    return gpusOf(node, slices);
  }

  /**
   * Returns which GPUs Pods outside Slipway hold, each with the name of its Pod. `own`: UUIDs that workloads of this
   * machine have. Rejects with ApiError.
   */
  async occupants(gpus: NodeGpus, machineId: string, own: ReadonlySet<string>): Promise<Map<string, string>> {
    const none = 'GPUs that other Pods hold are not known';
    const labelSelector = `${POD_MACHINE_LABEL}!=${machineId}`;
    if (gpus.gpus.length === 0) return new Map();
    if (gpus.devices) {
      const claims = await this.#listed<ApiResourceClaim>(`${DEVICES}/resourceclaims`, { labelSelector }, none);
      return occupants(gpus, { pods: [], claims, own });
    }
    const query = { labelSelector, fieldSelector: `spec.nodeName=${this.#node}` };
    const pods = await this.#listed<ApiPod>('/api/v1/pods', query, none);
    return occupants(gpus, { pods, claims: [], own });
  }

  /** Returns the DaemonSet of the agent's own Pod; `undefined` if it has none. Rejects with ApiError. */
  async daemonSet(namespace: string, pod: string): Promise<OwnerReference | undefined> {
    const { metadata } = await this.#api.call<ApiPod>('GET', `/api/v1/namespaces/${namespace}/pods/${pod}`);
    const owner = metadata.ownerReferences?.find(({ kind, controller }) => controller && kind === 'DaemonSet');
    // The Pods are not its to control: it only takes them along when it is deleted.
    return owner && { apiVersion: owner.apiVersion, kind: owner.kind, name: owner.name, uid: owner.uid };
  }

  /**
   * Lists objects from the API server's cache, where Pods are indexed by node: each node asks every few seconds, and
   * the newest state would cost the server more. None if the API does not have the kind, or the agent may not read it.
   */
  async #listed<Item>(path: string, query: Record<string, string>, else_: string): Promise<Item[]> {
    try {
      const cached = { ...query, resourceVersion: '0' };
      return (await this.#api.call<ApiList<Item>>('GET', path, { query: cached })).items;
    } catch (error) {
      if (!(error instanceof ApiError) || ![403, 404].includes(error.status)) throw error;
      if (error.status === 403 && !this.#warned.has(path)) {
        this.#warned.add(path);
        this.#logger.warn({ path, reason: error.message }, `the agent may not read ${path}: ${else_}`);
      }
      return [];
    }
  }
}

/** Returns processors and memory that Pods can get on the node. */
export function nodeSizeOf({ status }: ApiNode): { cpuCount: number; memoryMib: number } {
  const { cpu = '0', memory = '0' } = status?.allocatable ?? {};
  return { cpuCount: Math.floor(quantity(cpu)), memoryMib: Math.floor(quantity(memory) / MIB) };
}

/** Returns the images of the node, as far as it reports them: each name with its digest. */
export function imagesOf({ status }: ApiNode): { name: string; digest: string; sizeBytes: number }[] {
  return (status?.images ?? []).flatMap(({ names = [], sizeBytes = 0 }) => {
    const digest = names.map((name) => /@(sha256:[0-9a-f]{64})$/.exec(name)?.[1]).find(Boolean) ?? '';
    const tagged = names.filter((name) => !name.includes('@'));
    return tagged.map((name) => ({ name: name.replace(/^docker\.io\/(library\/)?/, ''), digest, sizeBytes }));
  });
}
