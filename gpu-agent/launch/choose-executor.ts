/** Chooses the executor that runs a worker or pod on this machine. Pure. */
import type { WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Executor } from '../executors/executor.ts';

/** Executors of this machine. */
export interface MachineExecutors {
  /** Runs commands of this host. `undefined` if the operator allows none. */
  process: Executor | undefined;
  /** Runs images. `undefined` if this machine has no container engine. */
  readonly container: Executor | undefined;
}

/** The chosen executor, or why there is none. */
type Choice =
  | { by: 'process' | 'container'; executor: Executor }
  | { by: 'nothing'; why: 'no-command' | 'no-engine' | 'not-allowed' };

/**
 * Chooses the executor. An image always runs as a container, whatever its command. A command without an image runs as a
 * process of this host.
 */
export function chooseExecutor(
  spec: Pick<WorkerSpec, 'imageName' | 'startCommand'>,
  { process, container }: MachineExecutors,
): Choice {
  if (spec.imageName !== '')
    return container ? { by: 'container', executor: container } : { by: 'nothing', why: 'no-engine' };
  if (spec.startCommand.length === 0) return { by: 'nothing', why: 'no-command' };
  return process ? { by: 'process', executor: process } : { by: 'nothing', why: 'not-allowed' };
}

/** Texts for people that say why nothing can run it. */
export const REJECTIONS: Record<Extract<Choice, { by: 'nothing' }>['why'], string> = {
  'no-engine': 'this machine has no container engine for its image',
  'no-command': 'it has no start command',
  'not-allowed': 'the operator of this machine allows no commands (its agent runs without --allow-commands)',
};
