/** `slipway version`: versions of this command and of the parts that are installed beside it. */
import { join } from 'node:path';
import { within } from '@slipway/kit/time/clock';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { failureOf, InterruptedError } from '../failures.ts';
import { partVersions, versionIn } from './installed.ts';

/** Adds the command. */
export function addVersion(program: Command, cli: Cli): void {
  addCommand(program, {
    usage: 'version',
    description:
      'Show the versions of this command, of the parts that are installed beside it, of the Node that runs them, and ' +
      'of the core that commands go to.',
    examples: ['version', '--json version'],
  }).action(async () => {
    const { output } = cli;
    const server = await serverVersion(cli);
    const versions = {
      slipway: versionIn(join(import.meta.dirname, '..')),
      ...partVersions(),
      node: process.versions.node,
    };
    const document = Object.fromEntries(Object.entries(versions).map(([name, version]) => [name, version ?? null]));
    output.result({ ...document, server }, () =>
      output.fields([
        ...Object.entries(versions).map(([name, version]) => [name, version ?? 'not installed'] as const),
        ['server', serverText(server)],
      ]),
    );
  });
}

/** A core as far as it is known. `version` is null if it did not tell it, and `error` then says why. */
interface Server {
  address: string;
  version: string | null;
  error?: string;
}

const ANSWER_MS_MAX = 3_000;

/** Returns the core that commands go to. Null if no key is known for one. */
async function serverVersion(cli: Cli): Promise<Server | null> {
  const { clock, stopping, target } = cli;
  const { address, user } = target;
  if (user.key === undefined) return null;
  try {
    const { coreVersion } = await within(clock, ANSWER_MS_MAX, stopping, (signal) =>
      cli.core.access.call((client) => client.getAccount, {}, { signal }),
    );
    return { address, version: coreVersion ?? null };
  } catch (error) {
    const failure = failureOf(error);
    return { address, version: null, error: error instanceof InterruptedError ? 'no answer' : failure.message };
  }
}

function serverText(server: Server | null): string | undefined {
  if (!server) return undefined;
  const { address, version, error } = server;
  return `${version ?? (error === undefined ? 'earlier than 0.4' : `not known: ${error}`)} at ${address}`;
}
