/** `slipway keys`: API keys of the account. */
import type { Command } from 'commander';
import { KeyPermissions, KeyScope, Permission } from '../../../proto/gen/slipway/v1/access_service.ts';
import type { Key } from '../../../proto/gen/slipway/v1/access_service.ts';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { UsageError } from '../failures.ts';
import { collect, oneOf } from '../option-values.ts';
import { ago, nameOf } from '../output/words.ts';

interface CreateOptions {
  scope?: KeyScope;
  management?: Permission;
  jobs?: Permission;
  endpoint?: string[];
  account?: string;
}

const SCOPES = { all: KeyScope.ALL, 'read-only': KeyScope.READ_ONLY, restricted: KeyScope.RESTRICTED, agent: KeyScope.AGENT };
const PERMISSIONS = { none: Permission.UNSPECIFIED, read: Permission.READ, 'read-write': Permission.READ_WRITE };

/** Adds the commands. */
export function addKeys(program: Command, cli: Cli): void {
  const keys = addCommand(program, {
    usage: 'keys', description: 'Create, list and revoke API keys.',
    examples: ['keys create ci --scope read-only', 'keys list', 'keys revoke 4dW1xKfTq9RbYcZm0LsA'],
  });
  addCommand(keys, {
    usage: 'create <name>',
    description: 'Create a key. It is shown once and stored hashed.',
    examples: [
      'keys create laptop',
      'keys create dashboard --scope restricted --management read --jobs none',
      'keys create shop --scope restricted --jobs read-write --endpoint cvedjim4ix3lzj',
      'keys create rack-1 --scope agent --account user_2bK… --key ROOT_KEY',
    ],
  })
    .option('--scope <scope>', 'all (default), read-only, restricted, or agent: for machines, needs the root key', oneOf(SCOPES))
    .option('--management <permission>', 'of a restricted key: none, read or read-write on endpoints, pods, …', oneOf(PERMISSIONS))
    .option('--jobs <permission>', 'of a restricted key: none, read or read-write on jobs', oneOf(PERMISSIONS))
    .option('--endpoint <id>', 'only this endpoint; may be given more than once', collect)
    .option('--account <id>', 'whose key it is; only with the root key')
    .action((name: string, options: CreateOptions) => createKey(cli, name, options));
  addCommand(keys, { usage: 'list', description: 'List the keys, revoked ones included.', examples: ['keys list', 'keys list --json'] })
    .option('--account <id>', 'whose keys; only with the root key')
    .action((options: { account?: string }) => listKeys(cli, options.account ?? ''));
  addCommand(keys, {
    usage: 'revoke <id>', description: 'Revoke a key by its id. It stops working everywhere within 5 s.',
    examples: ['keys revoke 4dW1xKfTq9RbYcZm0LsA'],
  }).action((id: string) => revokeKey(cli, id));
}

async function createKey(cli: Cli, name: string, options: CreateOptions): Promise<void> {
  const { scope = KeyScope.ALL, management, jobs, endpoint = [], account = '' } = options;
  const restricts = management !== undefined || jobs !== undefined;
  if (restricts !== (scope === KeyScope.RESTRICTED)) {
    throw new UsageError('A key of scope restricted needs --management or --jobs, and only such a key takes them.');
  }
  const permissions = restricts ? KeyPermissions.fromPartial({ management, jobs }) : undefined;
  const request = { name, scope, endpointIds: endpoint, accountId: account, permissions };
  const { key, secret } = await cli.core.keys.call((client) => client.createKey, request);
  const { output } = cli;
  output.result({ ...presentKey(key!), secret }, () => {
    output.fields([['id', key!.id], ['name', key!.name], ['may', allowed(key!)], ['key', secret]]);
    output.note('The key is shown only this once.');
  });
}

async function listKeys(cli: Cli, accountId: string): Promise<void> {
  const { keys } = await cli.core.keys.call((client) => client.listKeys, { accountId });
  const { output } = cli;
  output.result(keys.map(presentKey), () => output.table<Key>([
    { title: 'ID', text: (key) => key.id },
    { title: 'NAME', text: (key) => key.name },
    { title: 'MAY', text: allowed },
    { title: 'ENDPOINTS', text: (key) => key.endpointIds.join(', ') || 'all' },
    { title: 'CREATED', text: (key) => ago(key.createTime, output.nowMs()) },
    { title: 'REVOKED', text: (key) => ago(key.revokeTime, output.nowMs()) },
  ], keys, 'There are no keys.'));
}

async function revokeKey(cli: Cli, id: string): Promise<void> {
  await cli.core.keys.call((client) => client.revokeKey, { id });
  cli.output.result({ id, revoked: true }, () => cli.output.line(`Key ${id} is revoked.`));
}

/** What a key may do, in words. */
function allowed({ scope, permissions }: Key): string {
  const word = nameOf(SCOPES, scope);
  if (permissions === undefined) return word;
  return `${word}: management ${nameOf(PERMISSIONS, permissions.management)}, jobs ${nameOf(PERMISSIONS, permissions.jobs)}`;
}

function presentKey(key: Key) {
  const { management = 0, jobs = 0 } = key.permissions ?? {};
  return {
    id: key.id,
    name: key.name,
    scope: nameOf(KeyScope, key.scope),
    endpointIds: key.endpointIds,
    ...(key.permissions && { permissions: { management: permissionName(management), jobs: permissionName(jobs) } }),
    createdAt: key.createTime?.toISOString(),
    ...(key.revokeTime && { revokedAt: key.revokeTime.toISOString() }),
  };
}

function permissionName(permission: number): string {
  return permission === Permission.UNSPECIFIED ? 'NONE' : nameOf(Permission, permission);
}
