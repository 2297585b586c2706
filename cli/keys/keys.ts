/** `slipway keys`: API keys of the account. The operator also manages keys of other accounts and of machines. */

import { resolve } from 'node:path';
import type { Key } from '@slipway/proto/gen/slipway/v1/access_service';
import { KeyPermissions, KeyScope, Permission } from '@slipway/proto/gen/slipway/v1/access_service';
import { enumName } from '@slipway/proto/wire/enum-name';
import { allPages } from '@slipway/proto/wire/pages';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { UsageError } from '../failures.ts';
import type { KeyedCore } from '../keyed-core.ts';
import { collect, oneOf } from '../option-values.ts';
import { ago } from '../output/words.ts';
import { WATCH, watched } from '../shared/watch.ts';
import { openSecretFile } from './secret-file.ts';

interface CreateOptions {
  scope?: KeyScope;
  management?: Permission;
  jobs?: Permission;
  endpoint?: string[];
  account?: string;
  save?: string;
  replaces?: string;
}

interface ListOptions {
  all?: boolean;
  account?: string;
  scope?: KeyScope;
}

const SCOPES = {
  all: KeyScope.ALL,
  'read-only': KeyScope.READ_ONLY,
  restricted: KeyScope.RESTRICTED,
  agent: KeyScope.AGENT,
};
const PERMISSIONS = { none: Permission.UNSPECIFIED, read: Permission.READ, 'read-write': Permission.READ_WRITE };

/** Adds the commands. */
export function addKeys(program: Command, cli: Cli): void {
  const keys = addCommand(program, {
    usage: 'keys',
    description:
      'Create, list and revoke API keys of the account, and as the operator those of any account and of machines.',
    examples: ['keys create ci --scope read-only', 'keys list', 'keys revoke 4dW1xKfTq9RbYcZm0LsA'],
  });
  addCommand(keys, {
    usage: 'create <name>',
    description: 'Create a key. It is shown only once: only its hash is stored.',
    examples: [
      'keys create laptop',
      'keys create dashboard --scope restricted --management read --jobs none',
      'keys create shop --scope restricted --jobs read-write --endpoint cvedjim4ix3lzj',
      'keys create rack-1 --scope agent --save rack-1.key',
      'keys create rack-1 --scope agent --replaces 4dW1xKfTq9RbYcZm0LsA --save rack-1.key.new',
      'keys create admin --account user_2bK…',
    ],
  })
    .option(
      '--scope <scope>',
      'all (default), read-only, restricted, or agent: one for each machine, made by the operator',
      oneOf(SCOPES),
    )
    .option(
      '--management <permission>',
      'of a restricted key: none, read or read-write on endpoints, pods, …',
      oneOf(PERMISSIONS),
    )
    .option('--jobs <permission>', 'of a restricted key: none, read or read-write on jobs', oneOf(PERMISSIONS))
    .option('--endpoint <id>', 'only this endpoint; may be given more than once', collect)
    .option('--account <id>', 'account of the key; for the operator')
    .option(
      '--replaces <id>',
      'agent key that the new one replaces; it ends 10 minutes after the new one is first used',
    )
    .option('--save <file>', 'write the key into a new file that only you can read, and do not show it')
    .action((name: string, options: CreateOptions) => createKey(cli, name, options));
  addCommand(keys, {
    usage: 'list',
    description: 'List the keys, revoked ones included.',
    examples: ['keys list', 'keys list --scope agent', 'keys list --all'],
  })
    .option('--all', 'keys of all accounts and machines; for the operator')
    .option('--account <id>', 'keys of this account; for the operator')
    .option('--scope <scope>', 'only keys of this scope; agent: keys of machines, for the operator', oneOf(SCOPES))
    .option(...WATCH)
    .action(watched(cli, (options: ListOptions) => listKeys(cli, options)));
  addCommand(keys, {
    usage: 'revoke <id>',
    description:
      'Revoke a key by its id. It stops working everywhere within 5 s. A machine whose key is revoked joins ' +
      'again with a new one.',
    examples: ['keys revoke 4dW1xKfTq9RbYcZm0LsA'],
  })
    .option('--account <id>', 'account of the key; for the operator')
    .option('--scope <scope>', 'agent: a key of a machine, for the operator', oneOf(SCOPES))
    .action((id: string, options: ListOptions) => revokeKey(cli, id, options));
}

async function createKey(cli: Cli, name: string, options: CreateOptions): Promise<void> {
  const { scope = KeyScope.ALL, management, jobs, endpoint = [], account = '' } = options;
  const restricts = management !== undefined || jobs !== undefined;
  if (restricts !== (scope === KeyScope.RESTRICTED)) {
    throw new UsageError('A key of scope restricted needs --management or --jobs, and only such a key takes them.');
  }
  const permissions = restricts ? KeyPermissions.fromPartial({ management, jobs }) : undefined;
  const request = {
    name,
    scope,
    endpointIds: endpoint,
    accountId: account,
    permissions,
    replacesKeyId: options.replaces,
  };
  // Opened before the key is created: a key that can be neither shown nor saved would be useless.
  const file = options.save === undefined ? undefined : openSecretFile(resolve(cli.config.workingDir, options.save));
  const { key, secret } = await callerOf(cli, options)
    .keys.call((client) => client.createKey, request)
    .catch((error: unknown) => {
      file?.drop();
      throw error;
    });
  file?.write(secret);
  const { output } = cli;
  output.result({ ...presentKey(key!), ...(file ? { file: file.path } : { secret }) }, () => {
    const shown: [string, string] = file ? ['key in', file.path] : ['key', secret];
    output.fields([['id', key!.id], ['name', key!.name], ['may', allowed(key!)], shown]);
    output.note(file ? 'The key is in that file and nowhere else.' : 'The key is shown only this once.');
  });
}

/** Chooses the caller. Only the operator manages keys of machines and of named accounts. */
function callerOf(cli: Cli, { account, scope }: ListOptions): KeyedCore {
  return account !== undefined || scope === KeyScope.AGENT ? cli.operator : cli.core;
}

async function listKeys(cli: Cli, options: ListOptions): Promise<void> {
  const { account: accountId = '', scope, all = false } = options;
  if (all && accountId !== '') throw new UsageError('Give --all or --account, not both.');
  const core = all ? cli.operator : callerOf(cli, options);
  const listed = await allPages(
    (page) => core.keys.call((client) => client.listKeys, { accountId, all, ...page }),
    (response) => response.keys,
  );
  const keys = listed.filter((key) => scope === undefined || key.scope === scope);
  const { output } = cli;
  output.result(keys.map(presentKey), () =>
    output.table<Key>(
      [
        { title: 'ID', text: (key) => key.id },
        { title: 'NAME', text: (key) => key.name },
        ...(all ? [{ title: 'ACCOUNT', text: (key: Key) => key.accountId }] : []),
        { title: 'MAY', text: allowed },
        {
          title: 'ENDPOINTS',
          text: (key) => key.endpointIds.join(', ') || (key.scope === KeyScope.AGENT ? '' : 'all'),
        },
        ...(keys.some(({ scope }) => scope === KeyScope.AGENT)
          ? [{ title: 'MACHINE', text: ({ machineId }: Key) => machineId || 'not used yet' }]
          : []),
        { title: 'CREATED', text: (key) => ago(key.createTime, output.nowMs()) },
        { title: 'REVOKED', text: (key) => ago(key.revokeTime, output.nowMs()) },
      ],
      keys,
      'There are no keys.',
    ),
  );
}

async function revokeKey(cli: Cli, id: string, options: ListOptions): Promise<void> {
  await callerOf(cli, options).keys.call((client) => client.revokeKey, { id });
  cli.output.result({ id, revoked: true }, () => cli.output.line(`Key ${id} is revoked.`));
}

/** Returns the permissions of a key in words. */
function allowed({ scope, permissions }: Key): string {
  const word = enumName(SCOPES, scope);
  if (permissions === undefined) return word;
  return (
    `${word}: management ${enumName(PERMISSIONS, permissions.management)}, jobs ` +
    `${enumName(PERMISSIONS, permissions.jobs)}`
  );
}

function presentKey(key: Key) {
  const { management = 0, jobs = 0 } = key.permissions ?? {};
  return {
    id: key.id,
    name: key.name,
    ...(key.accountId && { accountId: key.accountId }),
    scope: enumName(KeyScope, key.scope),
    endpointIds: key.endpointIds,
    ...(key.scope === KeyScope.AGENT && { machineId: key.machineId }),
    ...(key.permissions && { permissions: { management: permissionName(management), jobs: permissionName(jobs) } }),
    createdAt: key.createTime?.toISOString(),
    ...(key.revokeTime && { revokedAt: key.revokeTime.toISOString() }),
  };
}

function permissionName(permission: number): string {
  return permission === Permission.UNSPECIFIED ? 'NONE' : enumName(Permission, permission);
}
