/** What an engine's words for the state of a container mean. Pure. */
import { constants } from 'node:os';
import type Docker from 'dockerode';
import type { UnitExit } from '../executor.ts';

export type ContainerState = Docker.ContainerInspectInfo['State'];

/** It has ended. */
export const OVER = new Set(['exited', 'stopped', 'dead', 'removing']);

/** Also that of one whose engine was killed before it wrote down that it runs: Podman cannot follow it any more. */
export const NOT_STARTED = new Set(['created', 'configured', 'initialized']);

/** It is not there any more. */
export const GONE: UnitExit = { code: undefined, signal: undefined, failure: 'somebody removed its container' };

/** An engine has one number for both: above 128 it means the signal that ended the first process. */
export function exitOf(state: ContainerState, oomKills: number | undefined): UnitExit {
  const signal = Object.entries(constants.signals).find(([, number]) => state.ExitCode === 128 + number)?.[0];
  const outOfMemory = state.OOMKilled || (oomKills === undefined ? undefined : oomKills > 0 && state.ExitCode !== 0);
  return { code: signal ? undefined : state.ExitCode, signal, failure: undefined, ...(outOfMemory && { outOfMemory }) };
}
