/** `slipway apply` and `slipway export`: resources as files. */

import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { collect } from '../option-values.ts';
import type { ApplyOptions } from './run-apply.ts';
import type { ExportOptions } from './run-export.ts';

/** Adds the commands. */
export function addApply(program: Command, cli: Cli): void {
  addCommand(program, {
    usage: 'apply',
    description:
      'Make the account as a file says: endpoints, templates, network volumes, secrets and registry credentials, by ' +
      'name. Shows the difference and asks. Settings that the file does not name stay as they are ' +
      '(docs/guides/files.md).',
    examples: ['apply -f slipway.yaml', 'apply -f deploy/ --dry-run', 'apply -f slipway.yaml --prune --yes --json'],
  })
    .option('-f, --file <file>', 'YAML or JSON; a folder stands for its *.yaml, - for stdin; may repeat', collect)
    .option('--dry-run', 'show the difference and change nothing')
    .option('-y, --yes', 'do not ask')
    .option('--prune', 'delete endpoints and templates that the owner of the file had in it before')
    .option('--update-secrets', 'send values of secrets and passwords that are there already')
    .option('--schema', 'write the JSON Schema of the file instead')
    // The parser of YAML would be loaded by every command.
    .action(async (options: ApplyOptions) => (await import('./run-apply.ts')).runApply(cli, options));
  addCommand(program, {
    usage: 'export [endpoints...]',
    description:
      'Write endpoints, and what they need, as a file that apply takes; without names the whole account. Values of ' +
      'secrets and passwords are not in it; variables are.',
    examples: ['export > slipway.yaml', 'export ocr --owner shop > shop.yaml', 'export ocr --json'],
  })
    .option('--owner <owner>', 'owner that the file names')
    .action(async (names: string[], options: ExportOptions) =>
      (await import('./run-export.ts')).runExport(cli, names, options),
    );
}
