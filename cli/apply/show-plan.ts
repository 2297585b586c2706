/** Shows what `slipway apply` would do, or has done. */
import type { Output } from '../output/output.ts';
import { count } from '../output/words.ts';
import { WORDS } from './sections.ts';
import type { Step } from './steps.ts';

const SIGNS = { create: '+', update: '~', keep: ' ', delete: '-' } as const;
const STYLES = { create: 'green', update: 'yellow', keep: 'dim', delete: 'red' } as const;
const VALUE_LENGTH_MAX = 80;

/** Writes the steps that change something, and a summary. */
export function showPlan(output: Output, steps: readonly Step[]): void {
  for (const { action, section, name, changes } of steps) {
    if (action === 'keep') continue;
    output.line(output.style(STYLES[action], `${SIGNS[action]} ${WORDS[section]} ${name}`));
    for (const { setting, from, to } of changes)
      output.line(`    ${setting}: ${from === undefined ? '' : `${valueText(from)} → `}${valueText(to)}`);
  }
  output.line(summary(steps));
}

/** Returns the record for programs. */
export function presentPlan(steps: readonly Step[], applied: boolean) {
  return {
    applied,
    resources: steps.map(({ section, name, action, changes, id }) => ({
      section,
      name,
      action,
      id: id ?? null,
      changes,
    })),
  };
}

/** Returns how many resources are to be changed, as text. */
export function summary(steps: readonly Step[]): string {
  const many = (action: Step['action']): number => steps.filter((step) => step.action === action).length;
  const parts = [
    [many('create'), 'to create'],
    [many('update'), 'to change'],
    [many('delete'), 'to delete'],
    [many('keep'), 'as they should be'],
  ] as const;
  const text = parts.filter(([number]) => number > 0).map(([number, what]) => `${number} ${what}`);
  return text.length === 0 ? 'Nothing is named.' : `${count(steps.length, 'resource')}: ${text.join(', ')}.`;
}

function valueText(value: unknown): string {
  const text = typeof value === 'string' && value !== '' ? value : (JSON.stringify(value) ?? '');
  return text.length > VALUE_LENGTH_MAX ? `${text.slice(0, VALUE_LENGTH_MAX - 1)}…` : text;
}
