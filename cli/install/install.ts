/** `slipway install`: makes a part a service of systemd on this machine. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Argument, type Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { UsageError } from '../failures.ts';
import { findProgram } from '../parts/installed.ts';
import type { PartName } from './unit.ts';
import { PARTS, renderUnit, secretsOf } from './unit.ts';
import { unitFileState, withDigest, writeUnitFile } from './unit-file.ts';

interface InstallOptions {
  dryRun?: true;
  configDir: string;
  unitDir: string;
  program?: string;
}

const MODULES: Readonly<Record<PartName, string>> = {
  core: '@slipway/core/main',
  facade: '@slipway/facades/main',
  edge: '@slipway/edge/main',
  agent: '@slipway/gpu-agent/main',
};
/** Folders that the sandbox of the units hides. */
const HIDDEN = /^\/(home|root|run\/user|tmp|var\/tmp)\//;

/** Adds the command. */
export function addInstall(program: Command, cli: Cli): void {
  addCommand(program, {
    usage: 'install',
    description:
      'Write the systemd unit of a part on this machine: sandboxed, with its secrets as credentials from ' +
      '/etc/slipway. Prints the written file and the start command. Options of the part follow --; its ' +
      'other settings are variables in /etc/slipway/PART.env.',
    examples: [
      'install core -- --listen 10.0.0.1:50051',
      'install facade -- --core 10.0.0.1:50051 --host 10.0.0.2',
      'install agent --dry-run -- --join 10.0.0.1:50051 --name rack-1',
    ],
  })
    .addArgument(new Argument('<part>', 'the part').choices(PARTS))
    .argument('[options...]', 'options of the part, after --')
    .option('--dry-run', 'show the unit and what would be done; write nothing')
    .option('--config-dir <folder>', 'folder of secrets and settings', '/etc/slipway')
    .option('--unit-dir <folder>', 'folder of units', '/etc/systemd/system')
    .option('--program <file>', 'the slipway command that the unit runs; default: the one of this installation')
    .action((part: PartName, args: string[], options: InstallOptions) => installPart(cli, part, args, options));
}

function installPart(cli: Cli, part: PartName, args: string[], { dryRun, ...folders }: InstallOptions): void {
  const { output, config } = cli;
  const configDir = resolve(config.workingDir, folders.configDir);
  const unitDir = resolve(config.workingDir, folders.unitDir);
  const program = folders.program
    ? resolve(config.workingDir, folders.program)
    : fileURLToPath(new URL('../slipway', import.meta.url));
  const has = (name: string): boolean => existsSync(join(configDir, name));
  const name = `slipway-${part}`;
  const file = join(unitDir, `${name}.service`);
  const text = withDigest(renderUnit(part, { program, configDir, args, has })).replace('edit NAME', `edit ${name}`);
  const missing = secretsOf(part, { has }).filter((secret) => !has(secret.file));
  const problem = problemOf(part, program, unitDir);
  const state = unitFileState(file, text);
  if (dryRun) output.line(text);
  if (problem !== undefined) {
    if (!dryRun) throw new UsageError(problem);
    output.note(`Note: ${problem}`);
  }
  if (state === 'changed')
    throw new UsageError(
      `${file} was changed since it was written, so it stays. Move your changes into a drop-in ` +
        `(systemctl edit ${name}), delete the file, and install again.`,
    );
  if (!dryRun && state !== 'same') writeUnitFile(file, text);
  output.line(`${file}: ${SAID[state][dryRun ? 'would' : 'done']}`);
  for (const secret of missing)
    output.line(`First put ${secret.name} into ${join(configDir, secret.file)} (mode 0600): the unit needs it.`);
  output.line(`Next: systemctl daemon-reload && systemctl enable ${name} && systemctl restart ${name}`);
}

const SAID = {
  new: { would: 'would be written', done: 'written' },
  older: { would: 'would be replaced', done: 'replaced' },
  same: { would: 'is as it should be', done: 'is as it should be' },
  changed: { would: '', done: '' },
} as const;

/** Returns why the unit could not work on this machine; `undefined` if it can. */
function problemOf(part: PartName, program: string, unitDir: string): string | undefined {
  if (findProgram(MODULES[part]) === undefined)
    return `This installation has no ${MODULES[part].replace('/main', '')}. Install it beside this command first.`;
  if (HIDDEN.test(program))
    return `This installation is in ${program}, which services cannot read. Install it below /opt, for instance.`;
  if (!existsSync(unitDir))
    return `There is no folder ${unitDir}: this machine has no systemd. --unit-dir names another.`;
  return undefined;
}
