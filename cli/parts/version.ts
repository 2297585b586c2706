/** `slipway version`: versions of this command, of the parts installed beside it, and of the parts that run. */

import { partSupport } from '@slipway/kit/host/part-version';
import { within } from '@slipway/kit/time/clock';
import type { Part } from '@slipway/proto/gen/slipway/v1/part_service';
import { PartSupport } from '@slipway/proto/gen/slipway/v1/part_service';
import { enumName } from '@slipway/proto/wire/enum-name';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { failureOf, InterruptedError } from '../failures.ts';
import type { Column } from '../output/table.ts';
import { CLI_VERSION, partVersions } from './installed.ts';
import { showRollback } from './rollback.ts';

/** Adds the command. */
export function addVersion(program: Command, cli: Cli): void {
  addCommand(program, {
    usage: 'version',
    description:
      'Show the versions of this command, of the parts that are installed beside it, of the Node that runs them, and ' +
      'of the core that commands go to. With the root key also of all parts that run, and whether core serves them.',
    examples: ['version', '--json version', 'version --rollback'],
  })
    .option('--rollback', 'show which releases of core may run on the database again; needs the root key')
    .action(({ rollback = false }: { rollback?: boolean }) => (rollback ? showRollback(cli) : showVersions(cli)));
}

async function showVersions(cli: Cli): Promise<void> {
  const { output } = cli;
  const { parts = [], ...found } = (await askServer(cli)) ?? {};
  const server = 'address' in found ? found : null;
  const versions = { slipway: CLI_VERSION, ...partVersions(), node: process.versions.node };
  const document = Object.fromEntries(Object.entries(versions).map(([name, version]) => [name, version ?? null]));
  output.result({ ...document, server, parts: parts.map(presentPart) }, () => {
    output.fields([
      ...Object.entries(versions).map(([name, version]) => [name, version ?? 'not installed'] as const),
      ['server', serverText(server)],
    ]);
    if (parts.length > 0) output.line('');
    if (parts.length > 0) output.table(COLUMNS, parts, '');
  });
}

/** A core as far as it is known. `version` is null if it is unknown, and `error` then has the reason. */
interface Server {
  address: string;
  version: string | null;
  error?: string;
}

const ANSWER_MS_MAX = 3_000;
const COLUMNS: readonly Column<Part>[] = [
  { title: 'RUNS', text: ({ name }) => name },
  { title: 'VERSION', text: ({ version }) => version },
  { title: 'MACHINES', text: ({ machines }) => (machines === 0 ? '' : String(machines)), right: true },
  { title: 'SUPPORT', text: ({ support }) => SUPPORT_TEXTS[support] ?? '' },
];
const SUPPORT_TEXTS: Readonly<Record<number, string>> = {
  [PartSupport.SERVED]: 'served',
  [PartSupport.TOO_OLD]: 'too old: update it',
  [PartSupport.TOO_NEW]: 'too new: update core',
};

/** Asks the core that commands go to. `undefined`: no key is known for one. `parts`: none without the root key. */
async function askServer(cli: Cli): Promise<(Server & { parts: Part[] }) | undefined> {
  const { clock, stopping, target } = cli;
  const { address, user, operator } = target;
  if (user.key === undefined && operator.key === undefined) return undefined;
  try {
    return await within(clock, ANSWER_MS_MAX, stopping, async (signal) => {
      const { coreVersion, parts = [] }: { coreVersion?: string | undefined; parts?: Part[] } =
        operator.key === undefined
          ? await cli.core.access.call((client) => client.getAccount, {}, { signal })
          : await cli.operator.parts.call((client) => client.listParts, {}, { signal });
      return { address, version: coreVersion ?? null, parts };
    });
  } catch (error) {
    const text = error instanceof InterruptedError ? 'no answer' : failureOf(error).message;
    return { address, version: null, error: text, parts: [] };
  }
}

function presentPart({ support, lastSeenTime, ...part }: Part) {
  return { ...part, support: enumName(PartSupport, support), lastSeenAt: lastSeenTime?.toISOString() ?? null };
}

function serverText(server: Server | null): string | undefined {
  if (!server) return undefined;
  const { address, version, error } = server;
  if (version === null) return `${error === undefined ? 'earlier than 0.4' : `not known: ${error}`} at ${address}`;
  const support = partSupport(version, CLI_VERSION);
  const advice = support === 'SERVED' ? '' : `; this command is ${SUPPORT_TEXTS[PartSupport[support]]}`;
  return `${version} at ${address}${advice}`;
}
