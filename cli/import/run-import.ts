/** Runs `slipway import`: reads both accounts, plans, and carries the plan out if asked to. */

import type { Cli } from '../cli.ts';
import { EXIT } from '../failures.ts';
import { ignored, openSecrets, secretRows } from './ignored-resources.ts';
import type { ImportContext } from './import-context.ts';
import { planImport } from './plan.ts';
import { PlanExecutor } from './plan-executor.ts';
import { readLogins } from './registry-auth-inputs.ts';
import { readSecretValues } from './secret-inputs.ts';
import type { Selection } from './selection.ts';
import { checkSelection } from './selection.ts';
import { showImport } from './show-import.ts';
import type { SourceAccount } from './source/read-source.ts';
import { readSource } from './source/read-source.ts';
import { isPlain, originOfSource, readSourceKey } from './source/source-address.ts';
import { SourceClient } from './source/source-client.ts';
import type { TargetAccount } from './target-account.ts';
import { readTarget } from './target-account.ts';

/** Options of the command, by commander's names. */
export interface ImportOptions {
  from: string;
  keyFile: string;
  graphql?: string;
  apply?: true;
  only?: string[];
  exclude?: string[];
  map?: Record<string, string>;
  registry?: string[];
  secrets?: string;
}

/** Runs the command. Its exit code is 1 if something was to be created and is not. */
export async function runImport(cli: Cli, options: ImportOptions): Promise<void> {
  const { output } = cli;
  cli.mustFinish = options.apply === true;
  const selection: Selection = { only: options.only ?? [], exclude: options.exclude ?? [] };
  checkSelection(selection, {});
  const logins = await readLogins(options.registry ?? []);
  const values = await readSecretValues(options.secrets, output);
  const client = await clientOf(cli, options);
  // Its own account is read first: without a key for it, nothing is asked of the source.
  const target = await readTarget(cli);
  const source = await readSource(client, output);
  const secrets = secretRows(source);
  checkSelection(selection, { ...source, secrets });
  for (const name of values.keys())
    if (!secrets.some((row) => row.name === name))
      output.note(`The source has no secret ${name} and mentions none: it is not set.`);
  const context = contextOf(client.origin, source, target, options.map ?? {});
  const plan = planImport(source, context, { selection, logins, values });
  const applied = options.apply === true;
  const steps = applied
    ? await new PlanExecutor(cli, context, { logins, values, sshKeys: source.sshKeys }).apply(plan)
    : plan;
  showImport(output, {
    source: { address: client.origin, surface: source.surface },
    applied,
    steps,
    secrets: openSecrets(source, context.target),
    ignored: ignored(source),
    unread: source.unread,
  });
  if (applied && steps.some(({ result }) => result === 'waits' || result === 'failed')) cli.exitCode = EXIT.refused;
}

async function clientOf(cli: Cli, { from, keyFile, graphql }: ImportOptions): Promise<SourceClient> {
  const { clock, random, output, stopping } = cli;
  const origin = originOfSource(from);
  const key = await readSourceKey(keyFile);
  const graphqlUrl = `${graphql === undefined ? origin : originOfSource(graphql)}/graphql`;
  for (const address of new Set([origin, graphqlUrl]))
    if (isPlain(address)) output.note(`${address} has no TLS: the key travels unencrypted.`);
  return new SourceClient({ origin, graphqlUrl, key, keyFile, clock, random, output, stopping });
}

function contextOf(
  origin: string,
  source: SourceAccount,
  target: TargetAccount,
  mapping: Readonly<Record<string, string>>,
): ImportContext {
  return {
    origin,
    target,
    mapping,
    references: { registries: new Map(), volumes: new Map(), templates: new Map() },
    names: new Map([...source.registries, ...source.volumes].map(({ id, name }) => [id, name])),
    templates: new Map(source.templates.map((row) => [row.id, row])),
    extras: source.extras,
  };
}
