/** What on this machine runs a worker or pod. Pure. */
import type { WorkerSpec } from '../../proto/gen/slipway/v1/agent_service.ts';
import type { Executor } from '../executors/executor.ts';

/** What this machine runs units with. */
export interface MachineExecutors {
  /** Commands of this host. */
  process: Executor;
  /** Images. Undefined: this machine has no container engine. */
  container: Executor | undefined;
}

/** What runs it; or why nothing does: `no-command` to run, or an image that needs an engine. */
export type Choice = { by: 'process' | 'container'; executor: Executor } | { by: 'nothing'; why: 'no-command' | 'no-engine' };

/** An image is run as a container, whatever its command; without an engine its command is a command of this host, if it has one. */
export function chooseExecutor(spec: Pick<WorkerSpec, 'imageName' | 'startCommand'>, executors: MachineExecutors): Choice {
  if (spec.imageName !== '' && executors.container) return { by: 'container', executor: executors.container };
  if (spec.startCommand.length > 0) return { by: 'process', executor: executors.process };
  return { by: 'nothing', why: spec.imageName === '' ? 'no-command' : 'no-engine' };
}
