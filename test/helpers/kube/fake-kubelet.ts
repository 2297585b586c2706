/**
 * A node of a real API server that runs Pods as processes of this host. It replaces scheduler and kubelet as far as the
 * API shows them. It binds a Pod to the node of its affinity and runs its command with the environment of its Secret.
 * Its log can be followed. A deletion sends SIGTERM and, after the grace period, SIGKILL. The Pod disappears from the
 * API when its process has ended.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { readApiAccess } from '@slipway/gpu-agent/executors/kubernetes/api-access';
import { ApiClient } from '@slipway/gpu-agent/executors/kubernetes/api-client';
import type { ApiPod } from '@slipway/gpu-agent/executors/kubernetes/api-types';
import { PodWatch } from '@slipway/gpu-agent/executors/kubernetes/pod-watch';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import type { Cluster } from '@slipway/tools/kube/cluster';
import type { KubeObject } from '@slipway/tools/kube/kube-api';
import { KubeApiError } from '@slipway/tools/kube/kube-api';
import { renewLease } from './node-lease.ts';
import type { PodSpec } from './pod-env.ts';
import { podEnv } from './pod-env.ts';

/** A line of a log, with its time as the kubelet writes it. */
interface LogLine {
  time: string;
  text: string;
}

interface Container {
  child: ChildProcess | undefined;
  lines: LogLine[];
  reads: number;
  followers: Set<ServerResponse>;
  isOver: boolean;
  killTimer?: NodeJS.Timeout;
}

interface FakeKubeletOptions {
  node: string;
  gpus?: number;
  labels?: Record<string, string>;
  /** Returns true for Pods that are bound and then left to the test. */
  leaves?(pod: ApiPod): boolean;
  /** Binds Pods to the node. False where a scheduler runs. Default: true. */
  binds?: boolean;
  /** Namespace of its Pods. Default: default. */
  namespace?: string;
  /** Variables that override a Pod's own: names of Services do not resolve here, and volumes have no files. */
  env?(pod: ApiPod): Record<string, string>;
  /** Returns the program of an image, for Pods that name no command. */
  programOf?(image: string): readonly string[] | undefined;
}

export type FakeKubelet = Awaited<ReturnType<typeof startKubelet>>;

/** Creates the node and begins to run its Pods. Everything ends with `stop`. */
export async function startKubelet(cluster: Cluster, options: FakeKubeletOptions) {
  const kubelet = new Kubelet(cluster, options);
  await kubelet.start();
  return kubelet;
}

class Kubelet {
  readonly #cluster: Cluster;
  readonly #options: FakeKubeletOptions;
  readonly #namespace: string;
  readonly #pods: string;
  readonly #containers = new Map<string, Container>();
  readonly #server;
  #watch: PodWatch | undefined;
  #alive: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(cluster: Cluster, options: FakeKubeletOptions) {
    this.#cluster = cluster;
    this.#options = options;
    this.#namespace = options.namespace ?? 'default';
    this.#pods = `/api/v1/namespaces/${this.#namespace}/pods`;
    const tls = dirname(cluster.caFile);
    this.#server = createServer(
      { cert: readFileSync(cluster.caFile), key: readFileSync(join(tls, 'apiserver.key')) },
      (request, response) => this.#serveLog(new URL(request.url!, 'https://kubelet'), response),
    );
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    const { node, gpus = 0, labels = {} } = this.#options;
    const sizes = { cpu: '64', memory: '512Gi', pods: '500', 'ephemeral-storage': '1Ti' };
    const resources = { ...sizes, ...(gpus > 0 && { 'nvidia.com/gpu': String(gpus) }) };
    await this.#cluster.api.send('POST', '/api/v1/nodes', {
      metadata: { name: node, labels: { 'kubernetes.io/hostname': node, ...labels } },
      status: {
        addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
        daemonEndpoints: { kubeletEndpoint: { Port: (this.#server.address() as AddressInfo).port } },
        capacity: resources,
        allocatable: resources,
        conditions: [{ type: 'Ready', status: 'True' }],
      },
    });
    if (this.#options.binds === false) this.#alive = await renewLease(this.#cluster.api, node);
    const api = new ApiClient(await readApiAccess(this.#cluster.kubeconfig), systemClock);
    this.#watch = new PodWatch({
      api,
      namespace: this.#namespace,
      labelSelector: '',
      onPod: (pod) => void this.#see(pod).catch(ignoreGone),
      onGone: (pod) => this.#containers.get(pod.metadata.uid!)?.child?.kill('SIGKILL'),
      clock: systemClock,
      random: systemRandom,
      logger: createLogger('test', 'silent'),
    });
    this.#watch.start();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#alive);
    await this.#watch?.close();
    for (const { child, killTimer } of this.#containers.values()) {
      clearTimeout(killTimer);
      child?.kill('SIGKILL');
    }
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** Patches the status of a Pod, as a kubelet does. */
  async status(name: string, status: object): Promise<void> {
    await this.#cluster.api.send('PATCH', `${this.#pods}/${name}/status`, { status });
  }

  /** Removes a Pod from the API, as a kubelet does once its containers have ended. */
  async remove(name: string): Promise<void> {
    await this.#cluster.api
      .send('DELETE', `${this.#pods}/${name}`, { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 })
      .catch(ignoreGone);
  }

  /** Adds a line to the log of a Pod that the test was left with. */
  log(uid: string, time: string, text: string): void {
    const container = this.#container(uid);
    container.lines.push({ time, text });
    for (const response of container.followers) response.write(`${time} ${text}`);
  }

  /** Cuts the connections by which a log is followed. */
  cutLog(uid: string): void {
    for (const response of this.#container(uid).followers) response.destroy();
  }

  /** Ends each reading of a log at once, as a node does that cannot follow logs. */
  endReadings(uid: string): void {
    this.#endLog(this.#container(uid));
  }

  /** Returns how often the log of a Pod was asked for. */
  reads(uid: string): number {
    return this.#container(uid).reads;
  }

  /** Returns how many follow the log of a Pod. */
  followers(uid: string): number {
    return this.#container(uid).followers.size;
  }

  #container(uid: string): Container {
    const known = this.#containers.get(uid) ?? {
      child: undefined,
      lines: [],
      reads: 0,
      followers: new Set(),
      isOver: false,
    };
    this.#containers.set(uid, known);
    return known;
  }

  async #see(pod: ApiPod): Promise<void> {
    const { node, leaves, binds = true } = this.#options;
    const { name, uid, deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata;
    if (pod.spec?.nodeName === undefined) {
      const isMine = JSON.stringify((pod.spec as unknown as PodSpec).affinity ?? '').includes(JSON.stringify(node));
      if (!binds || !isMine || deletionTimestamp) return;
      const target = { apiVersion: 'v1', kind: 'Node', name: node };
      await this.#cluster.api.send('POST', `${this.#pods}/${name}/binding`, {
        metadata: { name },
        target,
      } as KubeObject);
      return;
    }
    if (pod.spec.nodeName !== node) return;
    const container = this.#container(uid!);
    if (['Succeeded', 'Failed'].includes(pod.status?.phase ?? '')) this.#endLog(container);
    if (leaves?.(pod)) return;
    if (deletionTimestamp) return this.#end(name, container, deletionGracePeriodSeconds);
    if (!container.child && !container.isOver) await this.#run(pod, container);
  }

  async #run(pod: ApiPod, container: Container): Promise<void> {
    const { name } = pod.metadata;
    const [spec] = (pod.spec as unknown as PodSpec).containers;
    const { command = [], args = [], image, workingDir } = spec!;
    const words = command.length > 0 ? command : (this.#options.programOf?.(image) ?? []);
    const [program = 'true', ...rest] = [...words, ...args].map((text) => text.replaceAll('$$', '$'));
    container.isOver = true;
    const own = { ...(await podEnv(this.#cluster.api, pod, spec!)), ...this.#options.env?.(pod) };
    if (this.#stopped) return;
    const child = spawn(program, rest, {
      env: { PATH: process.env.PATH, ...own },
      cwd: workingDir ?? '/',
      detached: true,
    });
    container.isOver = false;
    container.child = child;
    child.on('error', () => undefined);
    const [repository = ''] = image.split('@');
    const digest = /@(sha256:.*)$/.exec(image)?.[1] ?? `sha256:${'d'.repeat(64)}`;
    const imageID = `${repository.replace(/:[^/]*$/, '')}@${digest}`;
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (bytes: Buffer) => {
        for (const text of String(bytes).split(/(?<=\n)/)) this.log(pod.metadata.uid!, now(), text);
      });
    }
    const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
      child.on('close', (code, signal) => resolve({ code, signal }));
    });
    const statuses = (state: object) => [{ name: 'workload', image, imageID, state }];
    await this.status(name, {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True' }],
      podIP: '127.0.0.1',
      podIPs: [{ ip: '127.0.0.1' }],
      containerStatuses: statuses({ running: { startedAt: new Date().toISOString() } }),
    });
    const { code, signal } = await ended;
    clearTimeout(container.killTimer);
    this.#endLog(container);
    if (this.#stopped) return;
    const exitCode = code ?? (signal === 'SIGTERM' ? 143 : 137);
    const terminated = { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error' };
    await this.status(name, {
      phase: exitCode === 0 ? 'Succeeded' : 'Failed',
      containerStatuses: statuses({ terminated }),
    });
    const found = await this.#cluster.api.send<ApiPod & KubeObject>('GET', `${this.#pods}/${name}`);
    if (found.metadata.deletionTimestamp) await this.remove(name);
  }

  #endLog(container: Container): void {
    container.isOver = true;
    for (const response of container.followers) response.end();
  }

  async #end(name: string, container: Container, graceSeconds: number): Promise<void> {
    const { child } = container;
    if (!child || container.isOver) return this.remove(name);
    const kill = (signal: NodeJS.Signals): void => {
      try {
        // A runtime asks the first process, and kills all.
        process.kill(signal === 'SIGTERM' ? child.pid! : -child.pid!, signal);
      } catch {
        // It has ended.
      }
    };
    kill('SIGTERM');
    clearTimeout(container.killTimer);
    container.killTimer = setTimeout(() => kill('SIGKILL'), graceSeconds * 1_000);
  }

  /** Serves `/containerLogs/NAMESPACE/POD/CONTAINER`. */
  #serveLog(url: URL, response: ServerResponse): void {
    const name = url.pathname.split('/')[3];
    const uid = this.#watch?.pods.find(({ metadata }) => metadata.name === name)?.metadata.uid;
    const container = uid === undefined ? undefined : this.#container(uid);
    if (!container) return void response.writeHead(404).end();
    const since = Date.parse(url.searchParams.get('sinceTime') ?? '1970-01-01T00:00:00Z');
    container.reads += 1;
    response.writeHead(200, { 'content-type': 'text/plain' }).flushHeaders();
    for (const { time, text } of container.lines) if (Date.parse(time) >= since) response.write(`${time} ${text}`);
    if (container.isOver) return void response.end();
    container.followers.add(response);
    response.on('close', () => container.followers.delete(response));
  }
}

/** Returns the time to the nanosecond. */
function now(): string {
  return new Date().toISOString().replace('Z', '000000Z');
}

function ignoreGone(error: unknown): void {
  if (!(error instanceof KubeApiError) || ![404, 409].includes(error.code)) throw error;
}
