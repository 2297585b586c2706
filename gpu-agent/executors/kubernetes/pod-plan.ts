/** The objects of a workload: its Pod, the Secrets with environment and registry credentials, its GPU claim. Pure. */
import type { ImageName } from '../../images/image-name.ts';
import { fullName } from '../../images/image-name.ts';
import type { Launch, Mount } from '../executor.ts';
import type { OwnerReference } from './api-types.ts';
import type { GpuDevice } from './node-gpus.ts';
import { countedBy, GPU_RESOURCE } from './node-gpus.ts';
import {
  CONTAINER,
  claimName,
  ENDPOINT_LABEL,
  envSecretName,
  GPUS_ANNOTATION,
  LAUNCH_ANNOTATION,
  POD_MACHINE_LABEL,
  POD_WORKLOAD_LABEL,
  pullSecretName,
} from './pod-labels.ts';
import type { PodTemplate } from './pod-template.ts';

/** Everything that the objects are made from. */
export interface PodPlan {
  launch: Launch;
  machineId: string;
  node: string;
  /** The image, by digest if it is resolved. */
  image: ImageName;
  /** Distinguishes this attempt to create the Pod from others. */
  nonce: string;
  owner: OwnerReference | undefined;
  template: PodTemplate;
  /** How long the workload may take to end after SIGTERM, in seconds. */
  graceSeconds: number;
  /** The very devices of its GPUs. `undefined`: the node's plugin only counts them. */
  devices: readonly GpuDevice[] | undefined;
  /** Where the network volumes are, and the claim that holds them; empty for folders of the node. */
  volumes: { folder: string; claim: string };
  /** Where a worker reaches the agent. */
  bridge: { host: string; port: number };
}

/**
 * Shared memory of a workload without its own limits, in bytes. The runtimes' default of 64 MiB makes PyTorch's data
 * loaders fail.
 */
const SHM_DEFAULT = 2 * 1024 ** 3;
/** Capabilities that runtimes grant by default and no worker needs. */
const DROPPED = ['MKNOD', 'SETFCAP', 'NET_RAW'];
/** A worker ends when its agent could not be reached for so long: core gives its jobs to others then. */
const LOST_AGENT = { periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 3 };
/**
 * Taints that do not keep Pods from their node or end them: GPU nodes have the first, and whether a node is lost is
 * decided by the agent's lease.
 */
const TOLERATIONS = [
  { key: GPU_RESOURCE, operator: 'Exists' },
  { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
];

/** Returns the Pod. */
export function podOf(plan: PodPlan): object {
  const { launch, template, node, graceSeconds } = plan;
  const { volumes, mounts } = volumesOf(plan);
  const { nodeSelector, schedulerName, priorityClassName, runtimeClassName, serviceAccountName } = template;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...metaOf(plan, launch.workloadId),
      annotations: {
        ...template.annotations,
        [LAUNCH_ANNOTATION]: plan.nonce,
        [GPUS_ANNOTATION]: launch.gpus.map(({ uuid }) => uuid).join(','),
      },
    },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: graceSeconds,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      // Not `nodeName`, which passes the scheduler by: it allocates claims and holds quotas.
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }] }],
          },
        },
      },
      tolerations: [...TOLERATIONS, ...(template.tolerations ?? [])],
      ...(nodeSelector && { nodeSelector }),
      ...(schedulerName && { schedulerName }),
      ...(priorityClassName && { priorityClassName }),
      ...(runtimeClassName && { runtimeClassName }),
      ...(serviceAccountName && { serviceAccountName }),
      ...(launch.image?.credentials && { imagePullSecrets: [{ name: pullSecretName(launch.workloadId) }] }),
      ...(hasClaim(plan) && {
        resourceClaims: [{ name: 'gpus', resourceClaimName: claimName(launch.workloadId) }],
      }),
      volumes,
      containers: [containerOf(plan, mounts)],
    },
  };
}

function containerOf(plan: PodPlan, volumeMounts: object[]): object {
  const { launch, image, bridge } = plan;
  return {
    name: CONTAINER,
    image: fullName(image),
    imagePullPolicy: image.digest === '' ? 'Always' : 'IfNotPresent',
    // Kubernetes would replace $(NAME) in them; $$ is a dollar.
    ...(launch.entrypoint.length > 0 && { command: launch.entrypoint.map(literal) }),
    ...(launch.command.length > 0 && { args: launch.command.map(literal) }),
    ...(launch.workingDirectory !== '' && { workingDir: launch.workingDirectory }),
    envFrom: [{ secretRef: { name: envSecretName(launch.workloadId) } }],
    resources: resourcesOf(plan),
    volumeMounts,
    ...(launch.endpointId !== undefined && {
      livenessProbe: { tcpSocket: { host: bridge.host, port: bridge.port }, ...LOST_AGENT },
    }),
    securityContext: {
      allowPrivilegeEscalation: false,
      privileged: false,
      capabilities: { drop: DROPPED },
      seccompProfile: { type: 'RuntimeDefault' },
    },
  };
}

/** Returns the Secret with the environment, which belongs to its Pod. */
export function envSecretOf(plan: PodPlan, pod: OwnerReference): object {
  const data = Object.entries(envOf(plan.launch)).map(([name, value]) => [name, base64(value)]);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...metaOf(plan, envSecretName(plan.launch.workloadId)), ownerReferences: [pod] },
    immutable: true,
    data: Object.fromEntries(data) as Record<string, string>,
  };
}

/** Returns the Secret with the registry credentials; `undefined` if there are none. */
export function pullSecretOf(plan: PodPlan): object | undefined {
  const { launch, image } = plan;
  if (!launch.image?.credentials) return undefined;
  const { username, password } = launch.image.credentials;
  const registry = image.registry === 'docker.io' ? 'https://index.docker.io/v1/' : image.registry;
  const auths = { [registry]: { username, password, auth: base64(`${username}:${password}`) } };
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/dockerconfigjson',
    metadata: metaOf(plan, pullSecretName(launch.workloadId)),
    immutable: true,
    data: { '.dockerconfigjson': base64(JSON.stringify({ auths })) },
  };
}

/** Returns the claim of the very GPUs; `undefined` if there are none to claim. */
export function claimOf(plan: PodPlan): object | undefined {
  if (!hasClaim(plan)) return undefined;
  return {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceClaim',
    metadata: metaOf(plan, claimName(plan.launch.workloadId)),
    spec: {
      devices: {
        requests: plan.devices!.map(({ uuid, driver, deviceClass }, index) => ({
          name: `gpu-${index}`,
          exactly: {
            deviceClassName: deviceClass,
            selectors: [
              {
                cel: {
                  expression:
                    `device.driver == ${JSON.stringify(driver)} && ` +
                    `device.attributes[${JSON.stringify(driver)}].uuid == ${JSON.stringify(uuid)}`,
                },
              },
            ],
          },
        })),
      },
    },
  };
}

/** Returns the environment. The node's driver sets which GPUs a container sees; without any it must see none. */
function envOf({ env }: Launch): Record<string, string> {
  const { NVIDIA_VISIBLE_DEVICES: visible, ...rest } = env;
  return visible === 'void' ? { ...rest, NVIDIA_VISIBLE_DEVICES: visible } : rest;
}

/** Returns a variable whose name no Secret can have; `undefined` if there is none. */
export function unfitVariable({ env }: Launch): string | undefined {
  return Object.keys(env).find((name) => !/^[-._a-zA-Z0-9]{1,253}$/.test(name) || name === '.' || name === '..');
}

function metaOf({ launch, machineId, owner, template }: PodPlan, name: string) {
  return {
    name,
    labels: {
      ...template.labels,
      'app.kubernetes.io/name': 'slipway-workload',
      'app.kubernetes.io/managed-by': 'slipway-agent',
      [POD_WORKLOAD_LABEL]: launch.workloadId,
      [POD_MACHINE_LABEL]: machineId,
      ...(launch.endpointId !== undefined && { [ENDPOINT_LABEL]: launch.endpointId }),
    },
    ...(owner && { ownerReferences: [owner] }),
  };
}

function hasClaim({ devices }: PodPlan): boolean {
  return devices !== undefined && devices.length > 0;
}

function resourcesOf(plan: PodPlan): object {
  const { memoryBytes, cpus, diskBytes } = plan.launch.limits;
  const limits = {
    ...(memoryBytes && { memory: String(memoryBytes) }),
    ...(cpus && { cpu: String(cpus) }),
    ...(diskBytes && { 'ephemeral-storage': String(diskBytes) }),
    ...(plan.devices === undefined && countedLimits(plan.launch)),
  };
  return { limits, ...(hasClaim(plan) && { claims: [{ name: 'gpus' }] }) };
}

/** Returns how many GPUs and MIG slices it has, by the resource that counts them. */
function countedLimits({ gpus }: Launch): Record<string, string> {
  const counts = new Map<string, number>();
  for (const { uuid, virtual } of gpus)
    if (!virtual) counts.set(countedBy(uuid), (counts.get(countedBy(uuid)) ?? 0) + 1);
  return Object.fromEntries([...counts].map(([resource, count]) => [resource, String(count)]));
}

function volumesOf(plan: PodPlan): { volumes: object[]; mounts: object[] } {
  const { memoryBytes, shmBytes } = plan.launch.limits;
  const sizeLimit = String(shmBytes ?? (memoryBytes === undefined ? SHM_DEFAULT : Math.floor(memoryBytes / 2)));
  const volumes: object[] = [{ name: 'shm', emptyDir: { medium: 'Memory', sizeLimit } }];
  const mounts: object[] = [{ name: 'shm', mountPath: '/dev/shm' }];
  const { claim } = plan.volumes;
  if (plan.launch.mounts.some((mount) => subPathOf(mount, plan) !== undefined))
    volumes.push({ name: 'volumes', persistentVolumeClaim: { claimName: claim } });
  for (const [index, mount] of plan.launch.mounts.entries()) {
    const { source, target: mountPath, readOnly = false } = mount;
    const subPath = subPathOf(mount, plan);
    const name = subPath === undefined ? `mount-${index}` : 'volumes';
    if (subPath === undefined) volumes.push({ name, hostPath: { path: source, type: 'Directory' } });
    mounts.push({ name, mountPath, readOnly, ...(subPath !== undefined && { subPath }) });
  }
  return { volumes, mounts };
}

/** Returns where a mount is in the claim of network volumes; `undefined` if it is a folder of the node. */
function subPathOf({ source }: Mount, { volumes: { folder, claim } }: PodPlan): string | undefined {
  return claim !== '' && source.startsWith(`${folder}/`) ? source.slice(folder.length + 1) : undefined;
}

function literal(text: string): string {
  return text.replaceAll('$', '$$$$');
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
