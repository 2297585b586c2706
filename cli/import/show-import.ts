/** Shows a plan, or what was carried out of it. */

import { printable } from '@slipway/kit/log/printable';
import type { Output } from '../output/output.ts';
import { count } from '../output/words.ts';
import type { IgnoredResource, OpenSecret } from './ignored-resources.ts';
import type { Step } from './plan.ts';

/** Everything that is shown. */
interface ImportReport {
  source: { address: string; surface: string };
  /** True: it was carried out. */
  applied: boolean;
  steps: readonly Step[];
  secrets: readonly OpenSecret[];
  ignored: readonly IgnoredResource[];
  /** Lists that could not be read at the source. */
  unread: readonly string[];
}

const WORDS: Readonly<Record<Step['result'], string>> = {
  create: 'create',
  exists: 'is here',
  waits: 'WAITS',
  created: 'created',
  failed: 'FAILED',
};

/** Kinds of resources that have no id of their own at the source. */
const HAVE_NO_ID: ReadonlySet<string> = new Set(['ssh-keys', 'secrets']);

/** Writes the report. */
export function showImport(output: Output, report: ImportReport): void {
  const { source, applied, steps, secrets, ignored, unread } = report;
  const document = {
    source,
    applied,
    resources: steps.map(({ kind, row, result, here, reason, differences, notes }) => ({
      kind,
      sourceId: row.id,
      name: row.name,
      result,
      id: here ?? null,
      reason: reason || null,
      differences,
      notes,
    })),
    secrets,
    notCarriedOver: ignored,
    unread,
  };
  output.result(document, () => {
    output.table(
      [
        { title: 'KIND', text: ({ kind }) => kind },
        { title: 'NAME', text: ({ row }) => row.name },
        { title: 'AT THE SOURCE', text: ({ row, kind }) => (HAVE_NO_ID.has(kind) ? '' : row.id) },
        { title: 'HERE', text: ({ here, row }) => (here === row.id ? 'same id' : (here ?? '')) },
        { title: '', text: ({ result, differences }) => WORDS[result] + (differences.length > 0 ? ', differs' : '') },
      ],
      steps,
      'Nothing is selected, or the source has nothing.',
    );
    for (const step of steps) showRemarks(output, step);
    showSecrets(output, secrets);
    showList(
      output,
      'Not carried over',
      ignored.map(({ what, reason }) => `${what}: ${reason}`),
    );
    showList(output, 'Not read at the source', unread);
    output.line('');
    output.line(summary(report));
  });
}

function showRemarks(output: Output, { kind, row, reason, differences, notes }: Step): void {
  const remarks = [...(reason === '' ? [] : [reason]), ...differences, ...notes];
  if (remarks.length === 0) return;
  output.line('');
  output.line(`${kind}/${printable(row.name)}`);
  for (const remark of remarks) output.line(`  ${printable(remark)}`);
}

function showSecrets(output: Output, secrets: readonly OpenSecret[]): void {
  const lines = secrets.map(({ usedBy, command }) =>
    usedBy.length === 0 ? command : `${command}   # used by ${usedBy.join(', ')}`,
  );
  showList(output, 'Secrets to set here (the source does not show their values)', lines);
}

function showList(output: Output, title: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  output.line('');
  output.line(`${title}:`);
  for (const line of lines) output.line(`  ${printable(line)}`);
}

function summary({ steps, applied, source }: ImportReport): string {
  const many = (result: Step['result']): number => steps.filter((step) => step.result === result).length;
  const differing = steps.filter(({ differences }) => differences.length > 0).length;
  const differ = differing > 0 ? `, ${differing} of them otherwise, and left so` : '';
  const waits = many('waits') > 0 ? `, ${many('waits')} wait` : '';
  if (!applied)
    return (
      `${count(many('create'), 'resource')} to create, ${many('exists')} here already${differ}${waits}. ` +
      'Nothing was changed; --apply creates them.'
    );
  const failed = many('failed') > 0 ? `, ${many('failed')} failed` : '';
  return (
    `${count(many('created'), 'resource')} created, ${many('exists')} were here${differ}${waits}${failed}. ` +
    `Nothing was changed at ${source.address}.${waits + failed === '' ? '' : ' The same command continues.'}`
  );
}
