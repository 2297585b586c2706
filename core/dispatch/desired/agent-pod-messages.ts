/** Pods between the contract with agents and the domain. */
import type { DesiredPod, PodPort, PodReport, WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';
import { PodState } from '@slipway/proto/gen/slipway/v1/pod';
import { cpuSize } from '../../domain/machines/cpu-size.ts';
import type { PodState as State } from '../../domain/pods/pod.ts';
import { publishedPort } from '../../domain/pods/published-port.ts';
import type { DesiredPodRow, PodFacts, PodSpecRow } from '../../store/pods/pod-report-store.ts';
import type { OpenCredentials } from '../agent-messages.ts';
import { ADDRESS_FORM, credentialsOf, reasonOf } from '../agent-messages.ts';
import type { ResolveVariables } from './secret-resolver.ts';
import { notStartedReason } from './secret-resolver.ts';

/** Mount path of a network volume in a pod that names no path (docs/reference/management.md#network-volumes). */
const POD_VOLUME_PATH = '/workspace';
/** Most ports of each protocol stored per pod (agent_service.proto). */
const PORTS_MAX = 20;
const POD_ID = /^[a-z0-9]{1,64}$/;

const STATES: Record<PodState, State | undefined> = {
  [PodState.UNSPECIFIED]: undefined,
  [PodState.STARTING]: 'STARTING',
  [PodState.RUNNING]: 'RUNNING',
  [PodState.EXITED]: 'EXITED',
  [PodState.FAILED]: 'FAILED',
};

/** Returns a stopped pod as a message: the agent needs nothing more to stop it. */
export function stoppedPod({ id, run, disk }: DesiredPodRow): DesiredPod {
  return { podId: id, running: false, run, disk, spec: undefined, refusal: '' };
}

/**
 * Returns a pod's current specification as a message. `resolve` puts secrets into its environment, `open` decrypts the
 * registry credentials. A pod that must not start has no specification, unless it runs already.
 */
export function podToDesired(row: PodSpecRow, resolve: ResolveVariables, open: OpenCredentials): DesiredPod {
  if (row.desired === 'EXITED') return stoppedPod(row);
  const { env, refusal } = resolve(row);
  const { id: podId, run, disk } = row;
  const isRefused = refusal !== undefined && row.state !== 'RUNNING';
  return {
    podId,
    running: true,
    run,
    disk,
    spec: isRefused ? undefined : podSpec(row, env, open),
    refusal: refusal ? notStartedReason(refusal) : '',
  };
}

function podSpec(row: PodSpecRow, env: Record<string, string>, open: OpenCredentials): WorkerSpec {
  const { imageName, networkVolumeId, networkVolumeGb } = row;
  return {
    startCommand: row.startCommand,
    workingDirectory: row.workingDirectory,
    imageName,
    // Only an image has an entry point.
    entrypoint: imageName === '' ? [] : row.entrypoint,
    env: { ...(row.publicKey === '' ? {} : { PUBLIC_KEY: row.publicKey }), ...env },
    gpuUuids: row.gpuUuids,
    gpuTypeId: row.gpuTypeId,
    volumes:
      networkVolumeId === null
        ? []
        : [{ networkVolumeId, mountPath: row.volumeMountPath || POD_VOLUME_PATH, sizeGb: networkVolumeGb ?? 0 }],
    registryCredentials: credentialsOf(row, open),
    vcpuCount: cpuSize(row.instanceId)?.vcpus ?? 0,
    memoryGb: cpuSize(row.instanceId)?.memoryGb ?? 0,
    imageDigest: row.imageDigest,
    containerDiskGb: row.containerDiskGb,
    ports: row.ports,
    httpServer: undefined,
    volumeGb: row.volumeGb,
    volumeMountPath: row.volumeMountPath,
    accountNumber: row.accountNumber,
    // These are for workers only.
    concurrency: 0,
    version: 0,
    initTimeoutSeconds: 0,
    models: [],
    modelHub: undefined,
  };
}

/** Returns the facts of a pod report, `undefined` if its state is unknown or its id is no pod's. */
export function podFactsFromReport({
  podId,
  run,
  state: reported,
  reason,
  exitCode,
  httpPorts,
  tcpPorts,
}: PodReport): PodFacts | undefined {
  const state = STATES[reported];
  if (!state || !POD_ID.test(podId)) return undefined;
  const isRunning = state === 'RUNNING';
  return {
    podId,
    run,
    state,
    reason: isRunning ? '' : reasonOf(reason),
    exitCode: exitCode ?? null,
    httpAddresses: isRunning ? addressesOf(httpPorts, (address) => ADDRESS_FORM.test(address)) : {},
    tcpAddresses: isRunning ? addressesOf(tcpPorts, (address) => publishedPort(0, address) !== undefined) : {},
  };
}

function addressesOf(ports: readonly PodPort[], isValid: (address: string) => boolean): Record<string, string> {
  const valid = ports.slice(0, PORTS_MAX).filter(({ port, address }) => port > 0 && port <= 65_535 && isValid(address));
  return Object.fromEntries(valid.map(({ port, address }) => [port, address]));
}
