/** The diagram of job states in ARCHITECTURE.md, made from the state table. */
import { isFinal, JOB_STATES, TRANSITIONS } from '@slipway/core/domain/jobs/job-state';

/** Moves that every state has, which would hide the others. */
const EVERYWHERE = 'expire';

/** Returns a Mermaid diagram: one arrow for all triggers between two states. */
export function jobStates(): string {
  const arrows = new Map<string, string[]>();
  for (const { from, trigger, to } of TRANSITIONS.filter((move) => move.trigger !== EVERYWHERE)) {
    const arrow = `${from ?? '[*]'} --> ${to ?? '[*]'}`;
    arrows.set(arrow, [...(arrows.get(arrow) ?? []), trigger]);
  }
  const moves = [...arrows].map(([arrow, triggers]) => `    ${arrow}: ${triggers.join(', ')}`);
  const ends = JOB_STATES.filter(isFinal).map((state) => `    ${state} --> [*]`);
  return ['```mermaid', 'stateDiagram-v2', ...moves, ...ends, '```'].join('\n');
}
