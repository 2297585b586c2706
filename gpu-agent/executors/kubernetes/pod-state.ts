/** The meaning of a Pod's status: what it waits for, whether it runs, how it ended. Pure. */
import { constants } from 'node:os';
import type { WorkloadExit } from '../executor.ts';
import type { ApiPod, TerminatedState } from './api-types.ts';
import { isCounted } from './node-gpus.ts';
import { CONTAINER } from './pod-labels.ts';

/** State of a Pod. */
export type PodPhase =
  | {
      is: 'waiting';
      /** Kind of the wait: for the scheduler, for a gate of the operator's queue, for the image, or to be created. */
      for: 'scheduler' | 'gate' | 'image' | 'container';
      /** The reason of Kubernetes, for instance `ImagePullBackOff`; empty if nothing is wrong. */
      reason: string;
      /** Its message; empty if there is none. */
      message: string;
    }
  | { is: 'running' }
  | { is: 'over'; exit: WorkloadExit };

/** Reasons of a container that waits because its image could not be pulled. */
const PULL_REASONS = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'RegistryUnavailable',
  'InvalidImageName',
  'ImageInspectError',
  'SignatureValidationFailed',
]);
/** Reasons of a container that waits and for which nothing is wrong. */
const USUAL = new Set(['ContainerCreating', 'PodInitializing', '']);
/** Reasons of a container that has ended and never ran. */
const NOT_STARTED = new Set(['StartError', 'ContainerCannotRun', 'CreateContainerError', 'ContainerStatusUnknown']);

/** Returns the state of a Pod. */
export function phaseOf(pod: ApiPod): PodPhase {
  const { phase, conditions = [], containerStatuses = [] } = pod.status ?? {};
  const state = ownStatus(pod)?.state;
  // A container that a service mesh has added runs on when the workload has ended.
  const isLeftAlone = state?.terminated !== undefined && containerStatuses.length > 1;
  if (phase === 'Succeeded' || phase === 'Failed' || isLeftAlone)
    return { is: 'over', exit: exitOf(pod, state?.terminated) };
  if (state?.running || (state?.terminated && phase === 'Running')) return { is: 'running' };
  const scheduled = conditions.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False') {
    const { reason = '', message = '' } = scheduled;
    return { is: 'waiting', for: reason === 'SchedulingGated' ? 'gate' : 'scheduler', reason, message };
  }
  if (!pod.spec?.nodeName) return { is: 'waiting', for: 'scheduler', reason: '', message: '' };
  const { reason = '', message = '' } = state?.waiting ?? {};
  if (PULL_REASONS.has(reason)) return { is: 'waiting', for: 'image', reason, message };
  return { is: 'waiting', for: 'container', reason: USUAL.has(reason) ? '' : reason, message };
}

/** Returns the status of the workload's container. Others in the Pod were added by the cluster. */
function ownStatus({ status }: ApiPod) {
  return status?.containerStatuses?.find(({ name }) => name === CONTAINER);
}

/** Returns the exit of a Pod that has ended. */
function exitOf({ status = {} }: ApiPod, container: TerminatedState | undefined): WorkloadExit {
  const ended = (more: Partial<WorkloadExit>): WorkloadExit => ({
    code: undefined,
    signal: undefined,
    failure: undefined,
    ...more,
  });
  const outside = outsideCause(status);
  if (container?.reason === 'OOMKilled') return ended({ ...codeOf(container), outOfMemory: true });
  if (outside !== undefined) return ended({ ...(container && codeOf(container)), cause: outside });
  if (!container) return ended({ failure: `Kubernetes ended its Pod${detail(status.reason, status.message)}` });
  if (NOT_STARTED.has(container.reason ?? ''))
    return ended({ failure: `its container could not be started${detail(container.reason, container.message)}` });
  return ended(codeOf(container));
}

/** Pods end for these reasons although their workload did nothing wrong. */
const OUTSIDE: Readonly<Record<string, string>> = {
  Evicted: 'was evicted by Kubernetes',
  NodeLost: 'was lost with its node',
  NodeShutdown: 'ended because its node shuts down',
  Terminated: 'ended because its node shuts down',
  Shutdown: 'ended because its node shuts down',
  Preempting: 'gave way to a Pod of higher priority',
  DeadlineExceeded: 'ran longer than Kubernetes allows it',
};

/** Returns what outside of the workload ended it, as the end of a sentence. */
function outsideCause({ reason = '', message = '', conditions = [] }: NonNullable<ApiPod['status']>) {
  const sentence = Object.hasOwn(OUTSIDE, reason) ? OUTSIDE[reason] : undefined;
  if (sentence !== undefined) return `${sentence}${message === '' ? '' : `: ${trimmed(message)}`}`;
  const target = conditions.find(({ type, status }) => type === 'DisruptionTarget' && status === 'True');
  if (!target) return undefined;
  return `was ended by Kubernetes${detail(target.reason, target.message)}`;
}

/**
 * Returns the exit of a Pod that no longer exists. `last`: its last known state. `asked`: the signal by which this
 * agent ended it; `undefined` if it did not.
 */
export function exitOfGone(last: ApiPod, asked: 'SIGTERM' | 'SIGKILL' | undefined): WorkloadExit {
  const terminated = ownStatus(last)?.state?.terminated;
  if (terminated) return exitOf(last, terminated);
  const none = { code: undefined, failure: undefined };
  if (asked !== undefined) return { ...none, signal: asked };
  const cause = outsideCause(last.status ?? {}) ?? 'ended because its Pod was deleted';
  return { ...none, signal: undefined, cause };
}

/** Returns exit code or signal. Above 128 an exit code means the signal that ended the first process. */
function codeOf({ exitCode, signal: number }: TerminatedState): Pick<WorkloadExit, 'code' | 'signal'> {
  const wanted = number || exitCode - 128;
  const signal = Object.entries(constants.signals).find(([, each]) => each === wanted)?.[0];
  return signal ? { code: undefined, signal } : { code: exitCode, signal: undefined };
}

/** Returns a line for people about what a Pod waits for. */
export function waitText(phase: PodPhase & { is: 'waiting' }, image: string): string {
  const { reason, message } = phase;
  if (phase.for === 'gate') return `waiting for the queue of Kubernetes to admit it${detail('', message)}`;
  if (phase.for === 'scheduler')
    return reason === ''
      ? 'waiting for Kubernetes to schedule it'
      : `Kubernetes cannot schedule it yet${detail(reason, message)}`;
  if (phase.for === 'image') return `Kubernetes cannot pull ${image} yet${detail(reason, message)}`;
  return reason === ''
    ? `Kubernetes pulls ${image} and creates its container`
    : `Kubernetes cannot create its container yet${detail(reason, message)}`;
}

/** Most characters of a message of Kubernetes that are quoted. */
const MESSAGE_MAX = 400;

function trimmed(message: string): string {
  const line = message.replaceAll(/\s+/g, ' ').trim().replace(/\.$/, '');
  return line.length <= MESSAGE_MAX ? line : `${line.slice(0, MESSAGE_MAX)} …`;
}

/** Returns reason and message as the rest of a sentence. */
export function detail(reason = '', message = ''): string {
  const text = [reason, trimmed(message)].filter((part) => part !== '').join(': ');
  return text === '' ? '' : ` (${text})`;
}

/** Returns the digest under which the node has a Pod's image; empty if it came from no registry. */
export function podDigestOf(pod: ApiPod): string {
  return /@(sha256:[0-9a-f]{64})$/.exec(ownStatus(pod)?.imageID ?? '')?.[1] ?? '';
}

/** Returns the ids of the GPUs and slices that the device plugin chose for a Pod; empty while the kubelet says none. */
export function chosenGpus({ status }: ApiPod): string[] {
  return (status?.containerStatuses ?? [])
    .flatMap(({ allocatedResourcesStatus = [] }) => allocatedResourcesStatus)
    .filter(({ name }) => isCounted(name))
    .flatMap(({ resources = [] }) => resources.map(({ resourceID }) => resourceID));
}
