/** `slipway secrets`: named values that environments refer to. */

import { readFile } from 'node:fs/promises';
import { presentSecret } from '@slipway/facades/resources/secrets/present-secret';
import type { Secret } from '@slipway/proto/gen/slipway/v1/secret_service';
import { UpdateSecretRequest } from '@slipway/proto/gen/slipway/v1/secret_service';
import { allPages } from '@slipway/proto/wire/pages';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { UsageError } from '../failures.ts';
import { ago } from '../output/words.ts';
import { readStdin } from '../read-stdin.ts';
import { WATCH, watched } from '../shared/watch.ts';

interface SetOptions {
  fromFile?: string;
  description?: string;
}

/** Users that are named in a row. */
const USERS_SHOWN = 3;

/** Adds the commands. Values come on stdin or from a file: an option could be seen by everyone on the machine. */
export function addSecrets(program: Command, cli: Cli): void {
  const secrets = addCommand(program, {
    usage: 'secrets',
    description: 'Set, list and delete secrets, which environments name as {{ RUNPOD_SECRET_name }}.',
    examples: [
      'secrets set hf-token < token.txt',
      "endpoints update ocr --env 'HF_TOKEN={{ RUNPOD_SECRET_hf-token }}'",
    ],
  });
  addCommand(secrets, {
    usage: 'list',
    description: 'List the secrets without their values, with what mentions them.',
    examples: ['secrets list', 'secrets list --json'],
  })
    .option(...WATCH)
    .action(watched(cli, () => listSecrets(cli)));
  addCommand(secrets, {
    usage: 'set <name>',
    description:
      'Store a secret, or replace its value, which is read from stdin. Running workers and pods keep the old value.',
    examples: [
      'secrets set hf-token < token.txt',
      'secrets set tls-key --from-file key.pem --description "of the proxy"',
    ],
  })
    .option('--from-file <file>', 'read the value from this file')
    .option('--description <text>', 'for people')
    .action((name: string, options: SetOptions) => setSecret(cli, name, options));
  addCommand(secrets, {
    usage: 'delete <name>',
    description:
      'Delete a secret, by name or id. Running workers and pods that use it continue, but do not start again.',
    examples: ['secrets delete hf-token'],
  })
    .alias('rm')
    .action((named: string) => removeSecret(cli, named));
}

async function listSecrets(cli: Cli): Promise<void> {
  const secrets = await allPages(
    (page) => cli.core.secrets.call((client) => client.listSecrets, page),
    ({ secrets }) => secrets,
  );
  show(cli, secrets, secrets.map(presentSecret));
}

async function setSecret(cli: Cli, name: string, { fromFile, description }: SetOptions): Promise<void> {
  const value = await readValue(cli, fromFile);
  const known = await findByName(cli, name);
  const { secret } = known
    ? await cli.core.secrets.call(
        (client) => client.updateSecret,
        UpdateSecretRequest.fromPartial({ id: known.id, value, ...(description !== undefined && { description }) }),
      )
    : await cli.core.secrets.call((client) => client.createSecret, { name, value, description: description ?? '' });
  show(cli, [secret!], presentSecret(secret));
}

async function removeSecret(cli: Cli, named: string): Promise<void> {
  const known = await findByName(cli, named);
  const id = known?.id ?? named;
  await cli.core.secrets.call((client) => client.deleteSecret, { id });
  cli.output.result({ id, deleted: true }, () => {
    cli.output.line(`Secret ${known?.name ?? id} is removed.`);
    if (known && known.userCount > 0)
      cli.output.line(`No worker or pod starts any more with what mentions it: ${usersText(known)}.`);
  });
}

async function findByName(cli: Cli, name: string): Promise<Secret | undefined> {
  const view = { search: '', orderBy: '', descending: false, filters: { name } };
  return (await cli.core.secrets.call((client) => client.listSecrets, { pageSize: 1, view })).secrets[0];
}

/** Reads the value, without the line end of a file or of `echo`. */
async function readValue(cli: Cli, file: string | undefined): Promise<string> {
  const bytes = file === undefined ? await readStdin(cli) : await readFile(file).catch(unreadable(file));
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes).replace(/\r?\n$/, '');
  } catch {
    throw new UsageError('The value is not UTF-8 text; encode it, for instance in base64.');
  }
}

function unreadable(file: string): (error: NodeJS.ErrnoException) => never {
  return ({ code }) => {
    throw new UsageError(`${file} cannot be read (${code}).`);
  };
}

function show({ output }: Cli, secrets: readonly Secret[], document: unknown): void {
  output.result(document, () =>
    output.table<Secret>(
      [
        { title: 'ID', text: ({ id }) => id },
        { title: 'NAME', text: ({ name }) => name },
        { title: 'VALUE SET', text: ({ valueSetTime }) => ago(valueSetTime, output.nowMs()) },
        { title: 'USED BY', text: usersText },
        { title: 'DESCRIPTION', text: ({ description }) => description },
      ],
      secrets,
      'There are no secrets; "slipway secrets set --help" shows how to store one.',
    ),
  );
}

function usersText({ users, userCount }: Secret): string {
  const shown = users.slice(0, USERS_SHOWN).map(({ kind, name, id }) => `${kind.toLowerCase()} ${name || id}`);
  const more = userCount - shown.length;
  return shown.length === 0 ? '–' : shown.join(', ') + (more > 0 ? ` and ${more} more` : '');
}
