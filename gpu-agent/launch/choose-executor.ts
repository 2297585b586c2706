/** What on this machine runs a worker or pod. Pure. */
import type { WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Executor } from '../executors/executor.ts';

/** What this machine runs units with. */
export interface MachineExecutors {
  /** Commands of this host. Undefined: the operator allows none. */
  process: Executor | undefined;
  /** Images. Undefined: this machine has no container engine. */
  readonly container: Executor | undefined;
}

/** What runs it; or why nothing does. */
type Choice =
  | { by: 'process' | 'container'; executor: Executor }
  | { by: 'nothing'; why: 'no-command' | 'no-engine' | 'not-allowed' };

/**
 * An image is run as a container, whatever its command, and never as anything else; a command alone is one of this
 * host.
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

/** The same for people. */
export const REFUSALS: Record<Extract<Choice, { by: 'nothing' }>['why'], string> = {
  'no-engine': 'this machine has no container engine for its image',
  'no-command': 'it has no start command',
  'not-allowed': 'the operator of this machine allows no commands (its agent runs without --allow-commands)',
};
