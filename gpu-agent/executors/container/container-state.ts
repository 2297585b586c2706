/** The meaning of an engine's container states. Pure. */
import { constants } from 'node:os';
import type Docker from 'dockerode';
import type { WorkloadExit } from '../executor.ts';

export type ContainerState = Docker.ContainerInspectInfo['State'];

/** States of a container that has ended. */
export const OVER = new Set(['exited', 'stopped', 'dead', 'removing']);

/**
 * States of a container that has not started. A container whose engine was killed before it recorded the start is also
 * in one of them: Podman cannot follow it any more.
 */
export const NOT_STARTED = new Set(['created', 'configured', 'initialized']);

/** Exit of a container that no longer exists. */
export const GONE: WorkloadExit = { code: undefined, signal: undefined, failure: 'its container was removed' };

/**
 * Returns the exit of a container. An engine has one number for exit code and signal: above 128 it means the signal
 * that ended the first process.
 */
export function exitOf(state: ContainerState, oomKills: number | undefined): WorkloadExit {
  const signal = Object.entries(constants.signals).find(([, number]) => state.ExitCode === 128 + number)?.[0];
  const outOfMemory = state.OOMKilled || (oomKills === undefined ? undefined : oomKills > 0 && state.ExitCode !== 0);
  return { code: signal ? undefined : state.ExitCode, signal, failure: undefined, ...(outOfMemory && { outOfMemory }) };
}
