/** Problems of a machine as text, for the operator. Pure. */
import { sentence } from '../settings/sentence.ts';
import type { Problem, ProblemKind } from './problem.ts';

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

const AWAY_TEXT = 'Its agent is away: what ran there has been put back or counts as lost.';
const FAULT_REMEDY =
  'Nothing new is placed on it. To change that: reset it (nvidia-smi --gpu-reset) or restart its machine; after an ' +
  'Xid error also: slipway machines uncordon MACHINE --gpu UUID.';
const WARNING_REMEDY = 'It is still used. What to do: docs/operate/gpu-health.md.';

/** Returns the problems of a machine. */
export function machineProblems(machine: MachineState, coreVersion: string): Problem[] {
  const { id, name, connected, cordoned, drainReason, ill, agentSupport } = machine;
  const of = (kind: ProblemKind, broken: boolean, text: string): Problem => {
    return { kind, broken, about: 'MACHINE', id, name, accountId: '', jobId: '', text };
  };
  return [
    ...(connected ? [] : [of('MACHINE_AWAY', true, AWAY_TEXT)]),
    ...ill.map((gpu) =>
      gpu.unhealthy === ''
        ? of('GPU_WARNING', false, `GPU ${gpu.name}: ${gpu.warning}. ${WARNING_REMEDY}`)
        : of('GPU_UNHEALTHY', true, `GPU ${gpu.name}: ${gpu.unhealthy}. ${FAULT_REMEDY}`),
    ),
    ...(agentSupport === 'SERVED' ? [] : [of('AGENT_NOT_SERVED', false, versionText(machine, coreVersion))]),
    ...(cordoned ? [of('MACHINE_CORDONED', false, cordonText(drainReason))] : []),
  ];
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
