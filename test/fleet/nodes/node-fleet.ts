/** Fills nodes with workers: an endpoint whose workers take all GPUs, and one whose workers need none. */
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import type { Cluster } from '@slipway/tools/kube/cluster';
import type { KubeObject } from '@slipway/tools/kube/kube-api';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { Fleet } from '../fleet.ts';
import type { FleetCore } from '../fleet-options.ts';
import { GPU, GPUS } from './node-agents.ts';

const PODS = '/api/v1/namespaces/default/pods';
/** Workers without a GPU on each node. */
const CPU_WORKERS = 2;
const STEP_MS_MAX = 300_000;
/** Pause between two looks: a list of 2,000 Pods costs the API server and this process 0.2 s of CPU. */
const LOOK_MS = 3_000;

/** A Pod as far as it is looked at. */
export interface NodePod extends KubeObject {
  metadata: KubeObject['metadata'] & { annotations?: Record<string, string>; labels?: Record<string, string> };
  spec: { nodeName?: string };
  status: { phase: string };
}

/** Progress of the fleet at one time. */
export interface NodeMoment {
  /** Workers that core has placed. */
  placed: number;
  /** Pods that exist, have a node, and run. 0 without Kubernetes. */
  pods: number;
  bound: number;
  running: number;
}

export class NodeFleet {
  readonly workers: number;
  readonly #core: FleetCore;
  readonly #cluster: Cluster | undefined;
  readonly #nodes: number;
  readonly #endpoints: { id: string; key: string }[] = [];

  constructor(core: FleetCore, nodes: number, cluster?: Cluster) {
    this.#core = core;
    this.#cluster = cluster;
    this.#nodes = nodes;
    this.workers = nodes * (GPUS + CPU_WORKERS);
  }

  /** Waits until core can place workers on all nodes. */
  async joined(): Promise<void> {
    const { clients, rootKey } = this.#core;
    await waitFor(
      'all machines',
      async () => {
        const { machines } = await call(clients.machines, 'listMachines', {}, rootKey);
        const ready = machines.filter(({ machine }) =>
          this.#cluster ? machine?.containerEngine?.name === 'kubernetes' : machine?.gpus.length === GPUS,
        );
        return ready.length === this.#nodes;
      },
      STEP_MS_MAX,
    );
  }

  /** Creates both endpoints. */
  async deploy(): Promise<void> {
    const fleet = new Fleet(this.#core, { seed: 1, machines: 0, endpoints: 0, workers: 0, accounts: 0 });
    const account = await fleet.newAccount('nodes');
    const image = this.#cluster ? { imageName: 'localhost/worker:1' } : {};
    const template = Template.fromPartial({
      name: 'nodes',
      startCommand: ['sleep', 'infinity'],
      serverless: true,
      ...image,
    });
    const { id: templateId } = (await call(this.#core.clients.templates, 'createTemplate', { template }, account.key))
      .template!;
    const [withGpu, without] = [this.#nodes * GPUS, this.#nodes * CPU_WORKERS];
    for (const fields of [
      { gpuIds: [GPU], workersMin: withGpu, workersMax: withGpu },
      { computeType: 'CPU', workersMin: without, workersMax: without },
    ])
      this.#endpoints.push(await fleet.createEndpoint({ ...account, templateId }, fields));
  }

  /** Waits until all workers are placed and all Pods run. `onMoment` is called at each look. */
  async filled(onMoment: (moment: NodeMoment) => void = () => undefined): Promise<void> {
    await waitFor(
      'all workers',
      async () => {
        const moment = await this.look();
        onMoment(moment);
        return moment.placed === this.workers && (!this.#cluster || moment.running === this.workers);
      },
      STEP_MS_MAX,
      LOOK_MS,
    );
  }

  /** Lets all workers end, and waits until they are gone. */
  async empty(): Promise<void> {
    for (const { id, key } of this.#endpoints) {
      const endpoint = Endpoint.fromPartial({ id, workersMin: 0, workersMax: 0 });
      const updateMask = ['workers_min', 'workers_max'];
      await call(this.#core.clients.endpoints, 'updateEndpoint', { endpoint, updateMask }, key);
    }
    const isEmpty = async (): Promise<boolean> => {
      const { placed, pods } = await this.look();
      return placed + pods === 0;
    };
    await waitFor('no workers', isEmpty, STEP_MS_MAX, LOOK_MS);
  }

  /** Returns what is there now. */
  async look(): Promise<NodeMoment> {
    const [row] = await this.#core.sql<{ n: number }[]>`
      SELECT count(*)::int AS n FROM worker WHERE ended_at IS NULL AND machine_id IS NOT NULL`;
    const pods = await this.pods();
    return {
      placed: row!.n,
      pods: pods.length,
      bound: pods.filter(({ spec }) => spec.nodeName !== undefined).length,
      running: pods.filter(({ status }) => status.phase === 'Running').length,
    };
  }

  /** Returns all Pods of workers, as the API server's cache has them. */
  async pods(): Promise<readonly NodePod[]> {
    if (!this.#cluster) return [];
    return (await this.#cluster.api.send<{ items: NodePod[] }>('GET', `${PODS}?resourceVersion=0`)).items;
  }
}
