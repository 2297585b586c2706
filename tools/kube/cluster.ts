/**
 * A Kubernetes control plane on loopback: etcd and the API server, and if wanted the scheduler, the controllers and
 * kwok, which plays the nodes. Data is thrown away. Whatever ends the process that started it ends all of it.
 */
import { existsSync } from 'node:fs';
import type { ClusterFiles } from './cluster-files.ts';
import { writeClusterFiles, writeKubeconfig } from './cluster-files.ts';
import type { FakeNode, PortForward } from './fake-nodes.ts';
import { kwokConfig, nodeObject } from './fake-nodes.ts';
import { KubeApi, KubeApiError } from './kube-api.ts';
import type { Program } from './programs.ts';
import { Programs } from './programs.ts';
import { kubeletClient, startRealNode } from './real-node/real-node.ts';

interface ClusterOptions {
  /** An empty folder for its files, removed when it ends. */
  folder: string;
  /** Four free ports of the loopback address. */
  ports: readonly [api: number, etcd: number, peers: number, kubelets: number];
  /** Starts the scheduler and the controllers. Without them a Pod must name its node, and nothing cleans up. */
  controllers: boolean;
  /** Starts kwok, which plays these nodes: Pods there become Running, end and answer with a line of log. */
  nodes?: readonly FakeNode[];
  /** Targets of port-forwards to their Pods. Default: none. */
  forwards?: readonly PortForward[];
  /** Starts a real node: kubelet and containerd. Needs root, its own programs (real-node), and all of the above. */
  realNode?: boolean;
}

export type Cluster = Awaited<ReturnType<typeof startCluster>>;

/** Starts a cluster, and resolves when its API serves and its nodes are ready. */
export async function startCluster(options: ClusterOptions) {
  const { folder, ports, controllers, nodes, forwards = [], realNode = false } = options;
  const files = writeClusterFiles(folder);
  const programs = new Programs(folder);
  const [port, etcd, peers, kubelets] = ports;
  const url = `https://127.0.0.1:${port}`;
  const caFile = files.path('tls/apiserver.crt');
  try {
    programs.start('etcd', etcdArgs(files, etcd, peers));
    const kubelet = realNode ? kubeletClient(folder) : [];
    programs.start('kube-apiserver', [...apiServerArgs(files, { port, etcd, controllers }), ...kubelet]);
    // It writes its key when its certificate is whole.
    await programs.until('kube-apiserver', () => existsSync(files.path('tls/apiserver.key')));
    const api = new KubeApi(url, files.tokens.admin, caFile);
    const isServing = async (): Promise<boolean> => (await api.read('/readyz').catch(() => '')) === 'ok';
    await programs.until('kube-apiserver', isServing);
    const config = (user: keyof ClusterFiles['tokens']): string => writeKubeconfig(files, user, url, caFile);
    const kubeconfig = config('admin');
    if (controllers) {
      programs.start('kube-controller-manager', controllerArgs(files, config('system:kube-controller-manager')));
      programs.start('kube-scheduler', schedulerArgs(config('system:kube-scheduler')));
      // No Pod is admitted before the namespace has its account.
      const account = '/api/v1/namespaces/default/serviceaccounts/default';
      await programs.until('kube-controller-manager', () => found(api, account));
    }
    if (nodes) {
      const extra = kwokConfig(folder, forwards);
      programs.start('kwok', kwokArgs(files, { config: config('kwok'), extra, port: kubelets }));
      await Promise.all(nodes.map((node) => api.send('POST', '/api/v1/nodes', nodeObject(node))));
      await Promise.all(nodes.map(({ name }) => programs.until('kwok', () => isReady(api, name))));
    }
    if (realNode) {
      await startRealNode({ folder, programs, kubeconfig: config('system:node:real-0') });
      await programs.until('kubelet', () => isReady(api, 'real-0').catch(() => false));
    }
    return {
      url,
      caFile,
      /** Path of the administrator's kubeconfig. */
      kubeconfig,
      /** The administrator's token. */
      token: files.tokens.admin,
      api,
      /** Returns the last lines of a program's log. */
      log: (name: Program): string => programs.tail(name),
      /** Returns the process id of a program. */
      pid: (name: Program): number => programs.pid(name),
      /** Ends a program at once. */
      kill: (name: Program): Promise<void> => programs.kill(name),
      /** Starts a killed program again. Resolves when the API serves. */
      start: async (name: Program): Promise<void> => {
        programs.restart(name);
        await programs.until(name, isServing);
      },
      /** Ends everything and removes the folder. Idempotent. */
      stop: async (): Promise<void> => {
        await api.close();
        await programs.stop();
      },
    };
  } catch (error) {
    await programs.stop();
    throw error;
  }
}

async function found(api: KubeApi, path: string): Promise<boolean> {
  try {
    await api.send('GET', path);
    return true;
  } catch (error) {
    if (error instanceof KubeApiError) return false;
    throw error;
  }
}

async function isReady(api: KubeApi, node: string): Promise<boolean> {
  interface Node {
    status: { conditions?: { type: string; status: string }[] };
  }
  const { status } = await api.send<Node>('GET', `/api/v1/nodes/${node}`);
  return status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;
}

function etcdArgs({ path }: ClusterFiles, client: number, peer: number): string[] {
  const at = (port: number): string => `http://127.0.0.1:${port}`;
  return [
    '--name=slipway',
    `--data-dir=${path('etcd')}`,
    '--unsafe-no-fsync',
    '--log-level=warn',
    `--listen-client-urls=${at(client)}`,
    `--advertise-client-urls=${at(client)}`,
    `--listen-peer-urls=${at(peer)}`,
    `--initial-advertise-peer-urls=${at(peer)}`,
    `--initial-cluster=slipway=${at(peer)}`,
  ];
}

function apiServerArgs(
  { path }: ClusterFiles,
  { port, etcd, controllers }: { port: number; etcd: number; controllers: boolean },
): string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${etcd}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    '--advertise-address=127.0.0.1',
    // It refuses to announce a loopback address.
    '--endpoint-reconciler-type=none',
    '--service-cluster-ip-range=10.96.0.0/16',
    `--cert-dir=${path('tls')}`,
    `--token-auth-file=${path('tokens.csv')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${path('accounts.pub')}`,
    `--service-account-signing-key-file=${path('accounts.key')}`,
    '--kubelet-preferred-address-types=InternalIP',
    '--authorization-mode=Node,RBAC',
    '--allow-privileged=true',
    '--profiling=false',
    // There are no controllers that make accounts of namespaces and remove the taint from a new node.
    ...(controllers ? [] : ['--disable-admission-plugins=ServiceAccount,TaintNodesByCondition']),
  ];
}

function controllerArgs({ path }: ClusterFiles, config: string): string[] {
  return [
    ...asClient(config),
    '--use-service-account-credentials',
    `--service-account-private-key-file=${path('accounts.key')}`,
    `--root-ca-file=${path('tls/apiserver.crt')}`,
  ];
}

function schedulerArgs(config: string): string[] {
  return asClient(config);
}

/** By default controllers may make 20 calls a second, and the scheduler 50: it would bind 2,000 Pods in 40 seconds. */
const CALLS = ['--kube-api-qps=500', '--kube-api-burst=1000'];

function asClient(config: string): string[] {
  return [`--kubeconfig=${config}`, '--secure-port=0', '--leader-elect=false', ...CALLS];
}

function kwokArgs(
  { path }: ClusterFiles,
  { config, extra, port }: { config: string; extra: string; port: number },
): string[] {
  return [
    `--kubeconfig=${config}`,
    `--config=${extra}`,
    '--manage-all-nodes=false',
    '--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake',
    // Without leases a node counts as lost after 50 seconds.
    '--node-lease-duration-seconds=40',
    '--node-ip=127.0.0.1',
    `--node-port=${port}`,
    `--server-address=127.0.0.1:${port}`,
    `--tls-cert-file=${path('tls/apiserver.crt')}`,
    `--tls-private-key-file=${path('tls/apiserver.key')}`,
  ];
}
