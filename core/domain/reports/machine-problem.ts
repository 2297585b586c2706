/** Problems of a machine as text, for the operator. Pure. */
import { sentence } from '../settings/sentence.ts';
import type { Problem } from './problem.ts';

/** State of a machine that may have a problem. */
export interface MachineState {
  id: string;
  name: string;
  connected: boolean;
  cordoned: boolean;
  /** Why it is drained; may be empty. Null: it is not. */
  drainReason: string | null;
  /** GPUs that have failed, or that have a warning. At least one text of each is not empty. */
  ill: readonly { name: string; unhealthy: string; warning: string }[];
  agentVersion: string;
  /** Whether core serves that version. */
  agentSupport: 'SERVED' | 'TOO_OLD' | 'TOO_NEW';
}

const FAULT_REMEDY =
  'Nothing new is placed on it. To change that: reset it (nvidia-smi --gpu-reset) or restart its machine; after an ' +
  'Xid error also: slipway machines uncordon MACHINE --gpu UUID.';
const WARNING_REMEDY = 'It is still used. What to do: docs/operate/gpu-health.md.';

/** Returns the problems of a machine. */
export function machineProblems(machine: MachineState, coreVersion: string): Problem[] {
  const { id, name, connected, cordoned, drainReason, ill, agentSupport } = machine;
  const of = { about: 'MACHINE' as const, id, name, accountId: '', jobId: '' };
  return [
    ...(connected
      ? []
      : [
          {
            ...of,
            kind: 'MACHINE_AWAY',
            broken: true,
            text: 'Its agent is away: what ran there has been put back or counts as lost.',
          },
        ]),
    ...ill.map((gpu) => ({ ...of, ...gpuProblem(gpu) })),
    ...(agentSupport === 'SERVED'
      ? []
      : [{ ...of, kind: 'AGENT_NOT_SERVED', broken: false, text: versionText(machine, coreVersion) }]),
    ...(cordoned ? [{ ...of, kind: 'MACHINE_CORDONED', broken: false, text: cordonText(drainReason) }] : []),
  ];
}

function gpuProblem({ name, unhealthy, warning }: MachineState['ill'][number]) {
  return unhealthy === ''
    ? { kind: 'GPU_WARNING', broken: false, text: `GPU ${name}: ${warning}. ${WARNING_REMEDY}` }
    : { kind: 'GPU_UNHEALTHY', broken: true, text: `GPU ${name}: ${unhealthy}. ${FAULT_REMEDY}` };
}

function versionText({ agentVersion, agentSupport }: MachineState, coreVersion: string): string {
  const fact = `Its agent has version ${agentVersion}, which core ${coreVersion} does not serve`;
  const change = agentSupport === 'TOO_OLD' ? 'update the agent' : 'update core';
  return `${fact}: releases may be one minor version apart. To change that: ${change}.`;
}

function cordonText(drainReason: string | null): string {
  if (drainReason === null) return 'It is cordoned: nothing new is placed on it.';
  const why = drainReason === '' ? '' : ` Reason: ${sentence(drainReason)}`;
  return `It is drained: nothing new is placed on it, and its workers get no more jobs.${why}`;
}
