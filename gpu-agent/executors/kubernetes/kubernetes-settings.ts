/** Settings of an agent on Kubernetes, read from its environment. */
import type { EnvReader } from '@slipway/kit/host/env';
import type { PodTemplate } from './pod-template.ts';
import { parsePodTemplate } from './pod-template.ts';

/** Settings of an agent whose machine is a Kubernetes node. */
export interface KubernetesSettings {
  /** Name of the node. SLIPWAY_KUBERNETES_NODE, by the downward API `spec.nodeName`. */
  node: string;
  /** Address of the node at which Pods reach the bridge. SLIPWAY_KUBERNETES_HOST_IP, by `status.hostIP`. */
  hostIp: string;
  /** Name of the agent's own Pod; empty if it runs in none. SLIPWAY_KUBERNETES_POD, by `metadata.name`. */
  pod: string;
  /** Namespace of workers and pods. SLIPWAY_KUBERNETES_NAMESPACE, default: the namespace of the credentials. */
  namespace: string;
  /** Path of a kubeconfig. SLIPWAY_KUBERNETES_CONFIG, default: the service account of the agent's Pod. */
  kubeconfig: string;
  /** Address of the API inside the cluster. KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT, set in each Pod. */
  service: { host: string; port: string };
  /**
   * PersistentVolumeClaim that holds the network volumes, and that the agent's own Pod has at SLIPWAY_VOLUMES_DIR.
   * SLIPWAY_KUBERNETES_VOLUME_CLAIM, default empty: they are folders of the node.
   */
  volumeClaim: string;
  /** Fields that all Pods get. SLIPWAY_KUBERNETES_POD_TEMPLATE, JSON. */
  template: PodTemplate;
}

/** Reads the settings. `undefined` without SLIPWAY_KUBERNETES: the machine is no Kubernetes node. */
export function readKubernetes(reader: EnvReader): KubernetesSettings | undefined {
  if (!reader.flag('SLIPWAY_KUBERNETES', false)) return undefined;
  const template = parsePodTemplate(reader.text('SLIPWAY_KUBERNETES_POD_TEMPLATE', '{}'));
  if (typeof template === 'string') reader.fault(`SLIPWAY_KUBERNETES_POD_TEMPLATE ${template}`);
  return {
    node: reader.text('SLIPWAY_KUBERNETES_NODE'),
    hostIp: reader.text('SLIPWAY_KUBERNETES_HOST_IP'),
    pod: reader.text('SLIPWAY_KUBERNETES_POD', ''),
    namespace: reader.text('SLIPWAY_KUBERNETES_NAMESPACE', ''),
    kubeconfig: reader.text('SLIPWAY_KUBERNETES_CONFIG', ''),
    service: {
      host: reader.text('KUBERNETES_SERVICE_HOST', ''),
      port: reader.text('KUBERNETES_SERVICE_PORT', ''),
    },
    volumeClaim: reader.text('SLIPWAY_KUBERNETES_VOLUME_CLAIM', ''),
    template: typeof template === 'string' ? {} : template,
  };
}

/** Settings of an agent that matter here. */
interface OtherSettings {
  workerUser: { kind: string };
  standbyMax: number;
  allowCommands: boolean;
  prefetch: boolean;
}

/** Returns what is set and what Kubernetes cannot give. */
export function kubernetesFaults({ workerUser, standbyMax, allowCommands, prefetch }: OtherSettings): string[] {
  return [
    ...(workerUser.kind === 'same'
      ? []
      : ['SLIPWAY_WORKER_USER is set, but a Pod runs as the user of its image: Kubernetes has no user per account']),
    ...(standbyMax === 0
      ? []
      : ['SLIPWAY_STANDBY_MAX is not 0, but Kubernetes cannot freeze a Pod: its nodes have no standby (FlashBoot)']),
    ...(allowCommands
      ? ['SLIPWAY_AGENT_ALLOW_COMMANDS is set, but a command would run in the container of the agent: use images']
      : []),
    ...(prefetch ? ['SLIPWAY_PREFETCH is set, but only a Pod makes Kubernetes pull an image'] : []),
  ];
}
