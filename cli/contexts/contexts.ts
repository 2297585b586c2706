/** `slipway context`: the installations that commands go to. */

import { resolve } from 'node:path';
import { isWrongPin, trustOf, wrongPin } from '@slipway/kit/net/core-tls';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import type { Context } from '../context-file.ts';
import { changeContexts, checkContextName, contextNamed, LOCAL, readContexts } from '../context-file.ts';
import { UsageError } from '../failures.ts';
import { checkAddress } from '../target.ts';

interface AddOptions {
  endpoint?: string;
  url?: string;
}

/** Adds the commands. Keys come by `slipway login`, and are never shown. */
export function addContexts(program: Command, cli: Cli): void {
  const contexts = addCommand(program, {
    usage: 'context',
    description: 'Choose the installation for commands, and list known ones.',
    examples: ['context list', 'context use lab', 'context add lab --core grpcs://core.lab.example:50051'],
  });
  addCommand(contexts, {
    usage: 'list',
    description: 'List the contexts. Keys are not shown.',
    examples: ['context list', 'context list --json'],
  }).action(() => listContexts(cli));
  addCommand(contexts, {
    usage: 'get [name]',
    description: 'Show a context, or the one in use. Keys are not shown.',
    examples: ['context get', 'context get lab --json'],
  })
    .alias('show')
    .action((name: string | undefined) => showContext(cli, name));
  addCommand(contexts, {
    usage: 'add <name>',
    description: 'Add a context without a key, or change one. "slipway login" adds one with its key.',
    examples: ['context add lab --core grpcs://core.lab.example:50051 --core-ca lab-ca.pem --endpoint ocr'],
  })
    .option('-e, --endpoint <endpoint>', 'endpoint of commands that name none, by id')
    .option('--url <url>', 'public address of the service')
    .action((name: string, options: AddOptions) => addContext(cli, name, options));
  addCommand(contexts, {
    usage: 'use <name>',
    description: 'Let commands go to this installation; local: to the npm start of this machine.',
    examples: ['context use lab', 'context use local'],
  }).action((name: string) => useContext(cli, name));
  addCommand(contexts, {
    usage: 'remove <name>',
    description: 'Forget a context and its keys. The keys stay valid: revoke them with "slipway keys revoke".',
    examples: ['context remove lab'],
  })
    .alias('delete')
    .action((name: string) => removeContext(cli, name));
}

type ShownContext = ReturnType<typeof presentContext>;

/** Returns the context's members that may be shown. */
export function presentContext(
  name: string,
  { core, coreCa, key, rootKey, endpoint, url }: Context,
  isCurrent: boolean,
) {
  const trust = coreCa === undefined ? {} : { coreCa };
  return {
    name,
    isCurrent,
    core,
    ...trust,
    ...(endpoint !== undefined && { endpoint }),
    ...(url !== undefined && { url }),
    hasKey: key !== undefined,
    hasRootKey: rootKey !== undefined,
  };
}

/** Returns the address and trust that the options of the command line give. Throws UsageError. */
export function contextOf(
  { core, coreCa }: { core: string | undefined; coreCa: string | undefined },
  workingDir: string,
): Pick<Context, 'core' | 'coreCa'> {
  if (core === undefined) throw new UsageError('Which core? Give its address: --core HOST:PORT or grpcs://HOST:PORT.');
  if (coreCa === undefined) return { core: checkAddress(core) };
  if (isWrongPin(coreCa)) throw new UsageError(`${wrongPin('--core-ca', coreCa)}.`);
  const { caFile } = trustOf(coreCa);
  // A file is found from every folder.
  return { core: checkAddress(core), coreCa: caFile === '' ? coreCa : resolve(workingDir, caFile) };
}

function listContexts({ config, output }: Cli): void {
  const { current, contexts } = readContexts(config.contextFile);
  const rows = Object.entries(contexts).map(([name, context]) => presentContext(name, context, name === current));
  output.result(rows, () =>
    output.table<ShownContext>(
      [
        { title: '', text: ({ isCurrent }) => (isCurrent ? '*' : '') },
        { title: 'NAME', text: ({ name }) => name },
        { title: 'CORE', text: ({ core }) => core },
        { title: 'KEYS', text: keysText },
        { title: 'ENDPOINT', text: ({ endpoint = '' }) => endpoint },
      ],
      rows,
      'There are no contexts; "slipway login ADDRESS" makes one. Commands go to the npm start of this machine.',
    ),
  );
}

function showContext({ config, output }: Cli, named: string | undefined): void {
  const contexts = readContexts(config.contextFile);
  const name = named ?? contexts.current;
  if (name === undefined)
    throw new UsageError(
      'No context is in use: commands go to the npm start of this machine. See slipway context list.',
    );
  const shown = presentContext(name, contextNamed(contexts, name), name === contexts.current);
  output.result(shown, () =>
    output.fields([
      ['name', shown.name],
      ['in use', shown.isCurrent ? 'yes' : 'no'],
      ['core', shown.core],
      ['authority', shown.coreCa],
      ['endpoint', shown.endpoint],
      ['address', shown.url],
      ['keys', keysText(shown) || 'none'],
    ]),
  );
}

async function addContext(cli: Cli, name: string, options: AddOptions): Promise<void> {
  const { output } = cli;
  checkContextName(name);
  const { after } = await changeContexts(cli, ({ current, contexts }) => ({
    // The first one is used at once.
    current: current ?? (Object.keys(contexts).length === 0 ? name : undefined),
    contexts: { ...contexts, [name]: changedContext(cli, contexts[name], options) },
  }));
  const shown = presentContext(name, contextNamed(after, name), after.current === name);
  output.result(shown, () => {
    output.line(`Context ${name} is ${shown.isCurrent ? 'in use' : `stored; "slipway context use ${name}" uses it`}.`);
    if (!shown.hasKey) output.note(`It has no key yet: slipway login --context ${name}`);
  });
}

/** Returns the context with what the options give. A key never moves to another core. */
function changedContext(
  { config, targetOptions }: Cli,
  known: Context | undefined,
  { endpoint, url }: AddOptions,
): Context {
  const core = targetOptions.core ?? known?.core;
  const coreCa = targetOptions.coreCa ?? targetOptions.caFile ?? known?.coreCa;
  const context = {
    ...contextOf({ core, coreCa }, config.workingDir),
    ...(endpoint !== undefined && { endpoint }),
    ...(url !== undefined && { url }),
  };
  return { ...(known?.core === context.core ? known : {}), ...context };
}

async function useContext(cli: Cli, name: string): Promise<void> {
  const { output } = cli;
  const isLocal = name === LOCAL;
  const { after } = await changeContexts(cli, ({ contexts }) => {
    if (!isLocal) contextNamed({ contexts }, name);
    return { current: isLocal ? undefined : name, contexts };
  });
  output.result({ current: isLocal ? null : name }, () =>
    output.line(
      isLocal
        ? 'Commands now go to the npm start of this machine.'
        : `Commands now go to ${name} (${contextNamed(after, name).core}).`,
    ),
  );
}

async function removeContext(cli: Cli, name: string): Promise<void> {
  const { output } = cli;
  const { before } = await changeContexts(cli, ({ current, contexts }) => {
    contextNamed({ contexts }, name);
    const rest = Object.fromEntries(Object.entries(contexts).filter(([other]) => other !== name));
    return { current: current === name ? undefined : current, contexts: rest };
  });
  const wasInUse = before.current === name;
  output.result({ name, removed: true }, () =>
    output.line(`Context ${name} is forgotten.${wasInUse ? ' Commands go to the npm start of this machine.' : ''}`),
  );
}

function keysText({ hasKey, hasRootKey }: { hasKey: boolean; hasRootKey: boolean }): string {
  return [hasKey ? 'account' : '', hasRootKey ? 'operator' : ''].filter(Boolean).join(', ');
}
