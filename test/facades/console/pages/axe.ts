/** Faults of accessibility that axe finds on a page, without those that were decided on. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

export const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Result of one axe-core rule. */
export interface AxeResult {
  id: string;
  nodes: { html: string; any: { data: { messageKey?: string } | null }[] }[];
}

/**
 * Findings that axe-core leaves to people, by rule and by the reason why it cannot decide. Each has been checked by
 * hand.
 */
const DECIDED: Readonly<Record<string, readonly string[]>> = {
  // Part of it is scrolled out of sight, or another thing is drawn over a part of it that stays in place (the frame,
  // heads of dialogs, actions of a row): the colours are those of others of its kind, which are judged where nothing is
  // in the way. A text of one character is never judged, longer ones of its row are; nor is an input without a text.
  'color-contrast': ['elmPartiallyObscured', 'bgOverlap', 'shortTextContent', 'emptyValue'],
};

export function openOf({ id, nodes }: AxeResult): AxeResult {
  return {
    id,
    nodes: nodes.filter(({ any }) => !any.some(({ data }) => DECIDED[id]?.includes(data?.messageKey ?? ''))),
  };
}

export function toldOf({ id, nodes }: AxeResult): string {
  return `${id}: ${nodes
    .map(({ html, any }) => `${any[0]?.data?.messageKey ?? ''} ${html}`)
    .join(' ')
    .slice(0, 400)}`;
}
