/** `slipway login` and `slipway logout`: stores a key that core has accepted as a context. */

import { parseAddress } from '@slipway/kit/net/address';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import type { Context } from '../context-file.ts';
import { changeContexts, checkContextName, LOCAL, readContexts } from '../context-file.ts';
import { UsageError } from '../failures.ts';
import { readSecretLine } from '../read-stdin.ts';
import { contextOf, presentContext } from './contexts.ts';

interface LoginOptions {
  name?: string;
  url?: string;
  endpoint?: string;
  operator?: boolean;
}

/** Adds the command. */
export function addLogin(program: Command, cli: Cli): void {
  addCommand(program, {
    usage: 'login [address]',
    description:
      'Log in to an installation: the key is read from stdin, without echo on a terminal, checked by core, and ' +
      'stored as a context that commands then go to.',
    examples: [
      'login grpcs://core.lab.example:50051 --core-ca sha256:…',
      'login core.lab.example:50051 --name lab < key.txt',
      'login --context lab --operator < root-key.txt',
    ],
  })
    .option('--name <name>', 'name of the context; default: host of the address')
    .option('--url <url>', 'public address of the service, for slipway env and open')
    .option('-e, --endpoint <endpoint>', 'endpoint of commands that name none, by id')
    .option('--operator', "the key is the operator's")
    .action((address: string | undefined, options: LoginOptions) => login(cli, address, options));
}

async function login(cli: Cli, address: string | undefined, options: LoginOptions): Promise<void> {
  const { config, targetOptions } = cli;
  const stored = readContexts(config.contextFile);
  const named = options.name ?? targetOptions.context;
  const known = named === undefined ? undefined : stored.contexts[named];
  const core = address ?? targetOptions.core ?? known?.core;
  if (core === undefined) throw new UsageError('Where? Give the address of core: slipway login HOST:PORT.');
  const coreCa = targetOptions.coreCa ?? targetOptions.caFile ?? (known?.core === core ? known.coreCa : undefined);
  const place = contextOf({ core, coreCa }, config.workingDir);
  const name = checkContextName(named ?? hostOf(place.core));
  // The key is sent to this core, wherever commands went so far.
  cli.setOptions({ ...place, context: LOCAL, json: cli.output.json });
  const key =
    targetOptions.key ?? (await readSecretLine(cli, options.operator ? "The operator's key?" : 'The API key?'));
  const account = await check(cli, key, options.operator === true);
  const previous = stored.contexts[name];
  const context: Context = {
    ...(previous?.core === place.core ? previous : {}),
    ...place,
    ...(options.operator ? { rootKey: key } : { key }),
    ...(options.url !== undefined && { url: options.url }),
    ...(options.endpoint !== undefined && { endpoint: options.endpoint }),
  };
  // Of the file as it is now: another login may have ended while this one asked for a key.
  await changeContexts(cli, ({ contexts }) => ({ current: name, contexts: { ...contexts, [name]: context } }));
  cli.output.result(presentContext(name, context, true), () =>
    cli.output.line(`Logged in to ${place.core} as ${account}. Commands now go to the context ${name}.`),
  );
}

/** Lets core check the key. Returns whose it is. Throws what core says. */
async function check(cli: Cli, key: string, isOperator: boolean): Promise<string> {
  if (!/^[\x21-\x7e]+$/.test(key)) throw new UsageError('The key is empty or holds a character that no key has.');
  const core = cli.connectWith(key, 'given to login');
  try {
    if (isOperator) {
      await core.access.call((client) => client.listAccounts, {});
      return 'the operator';
    }
    const { account } = await core.access.call((client) => client.getAccount, {});
    return `account ${account!.name}`;
  } finally {
    core.close();
  }
}

function hostOf(address: string): string {
  return parseAddress(address)!.target.replace(/:\d+$/, '');
}
