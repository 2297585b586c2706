/** `slipway version`: versions of this command and of the parts that are installed beside it. */
import { join } from 'node:path';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { partVersions, versionIn } from './installed.ts';

/** Adds the command. */
export function addVersion(program: Command, cli: Cli): void {
  addCommand(program, {
    usage: 'version',
    description:
      'Show the versions of this command, of the parts that are installed beside it, and of the Node that runs them.',
    examples: ['version', '--json version'],
  }).action(() => {
    const { output } = cli;
    const versions = {
      slipway: versionIn(join(import.meta.dirname, '..')),
      ...partVersions(),
      node: process.versions.node,
    };
    const document = Object.fromEntries(Object.entries(versions).map(([name, version]) => [name, version ?? null]));
    output.result(document, () =>
      output.fields(Object.entries(versions).map(([name, version]) => [name, version ?? 'not installed'] as const)),
    );
  });
}
