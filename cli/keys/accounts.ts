/** `slipway accounts`: owners of keys, templates, endpoints and their jobs. */

import type { Account } from '@slipway/proto/gen/slipway/v1/access_service';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { RejectedError, UsageError } from '../failures.ts';
import { wholeNumber } from '../option-values.ts';
import { ago, moment } from '../output/words.ts';
import { WATCH, watched } from '../shared/watch.ts';

/** Adds the commands. */
export function addAccounts(program: Command, cli: Cli): void {
  const accounts = addCommand(program, {
    usage: 'accounts',
    description: 'Show the account of the key; list, create and limit accounts as the operator.',
    examples: [
      'accounts get',
      'accounts list',
      'accounts create research',
      'accounts quota research --workers 5 --gpus 2',
    ],
  });
  addCommand(accounts, {
    usage: 'create <name>',
    description: 'Create an account. Creating the same name again returns the same account. For the operator.',
    examples: ['accounts create research', 'keys create admin --account user_2bK…'],
  }).action(async (name: string) => {
    const { accountId } = await cli.operator.access.call((client) => client.createAccount, { name });
    const first = `Make its first key: slipway keys create admin --account ${accountId}`;
    cli.output.result({ id: accountId, name }, () => {
      cli.output.line(accountId);
      cli.output.note(first);
    });
  });
  addCommand(accounts, {
    usage: 'list',
    description: 'List all accounts with their quotas. For the operator.',
    examples: ['accounts list'],
  })
    .option(...WATCH)
    .action(watched(cli, () => listAccounts(cli)));
  addCommand(accounts, {
    usage: 'get [account]',
    description: 'Show the account of the key; as the operator any, by its id or name.',
    examples: ['accounts get', 'accounts get research'],
  })
    .alias('show')
    .action(async (named: string | undefined) =>
      showAccount(cli, await (named === undefined ? ownAccount(cli) : accountOf(cli, named))),
    );
  addCommand(accounts, {
    usage: 'quota <account>',
    description: 'Limit what an account may use at once. Limits that are not named stay. For the operator.',
    examples: [
      'accounts quota research --workers 5 --gpus 2 --queued-jobs 10000 --requests 500',
      'accounts quota research --gpus none',
      'accounts quota research --gpu-weight 3',
    ],
  })
    .option('--workers <number>', 'workers of all its endpoints; none: no limit', limit)
    .option('--gpus <number>', 'GPUs of its workers and running pods; none: no limit', limit)
    .option('--queued-jobs <number>', 'queued jobs of all its endpoints; none: no limit', limit)
    .option('--requests <number>', 'requests to its endpoints in 10 s, at each facade; none: no limit', limit)
    .option(
      '--gpu-weight <number>',
      'its share of scarce GPUs, relative to the weights of other accounts, 1 to 1,000; none: 1',
      limit,
    )
    .action((named: string, options: QuotaOptions) => setQuota(cli, named, options));
}

interface QuotaOptions {
  workers?: number;
  gpus?: number;
  queuedJobs?: number;
  requests?: number;
  gpuWeight?: number;
}

/** Value of `none`. Commander turns null and undefined into an empty text. */
const NO_LIMIT = -1;

function limit(text: string): number {
  return text === 'none' ? NO_LIMIT : wholeNumber()(text);
}

async function ownAccount(cli: Cli): Promise<Account> {
  return (await cli.core.access.call((client) => client.getAccount, {})).account!;
}

async function accountOf(cli: Cli, named: string): Promise<Account> {
  const { accounts } = await cli.operator.access.call((client) => client.listAccounts, {});
  const found = accounts.find(({ id, name }) => id === named || name === named);
  if (!found)
    throw new RejectedError(`There is no account ${JSON.stringify(named)}; "slipway accounts list" shows all.`);
  return found;
}

async function setQuota(cli: Cli, named: string, options: QuotaOptions): Promise<void> {
  if (Object.keys(options).length === 0) throw new UsageError('Name a limit to set, for instance --gpus 2.');
  const { id: accountId, quota: before = {} } = await accountOf(cli, named);
  const chosen = (name: keyof QuotaOptions): number | undefined => {
    const given = options[name];
    if (given === undefined) return before[name];
    return given === NO_LIMIT ? undefined : given;
  };
  const quota = {
    workers: chosen('workers'),
    gpus: chosen('gpus'),
    queuedJobs: chosen('queuedJobs'),
    requests: chosen('requests'),
    gpuWeight: chosen('gpuWeight'),
  };
  const { account } = await cli.operator.access.call((client) => client.setQuota, { accountId, quota });
  showAccount(cli, account!);
}

async function listAccounts(cli: Cli): Promise<void> {
  const { accounts } = await cli.operator.access.call((client) => client.listAccounts, {});
  const { output } = cli;
  output.result(accounts.map(presentAccount), () =>
    output.table<Account>(
      [
        { title: 'ID', text: ({ id }) => id },
        { title: 'NAME', text: ({ name }) => name },
        { title: 'QUOTA', text: quotaText },
        { title: 'CREATED', text: ({ createTime }) => ago(createTime, output.nowMs()) },
      ],
      accounts,
      'There are no accounts.',
    ),
  );
}

function showAccount({ output }: Cli, account: Account): void {
  const { id, name, publicKey, createTime } = account;
  output.result(presentAccount(account), () => {
    output.fields([
      ['id', id],
      ['name', name],
      ['SSH key', publicKey],
      ['quota', quotaText(account)],
      ['created', moment(createTime, output.nowMs())],
    ]);
  });
}

function presentAccount({ id, name, publicKey, createTime, quota = {} }: Account) {
  const { workers = null, gpus = null, queuedJobs = null, requests = null, gpuWeight = 1 } = quota;
  return {
    id,
    name,
    pubKey: publicKey,
    createdAt: createTime?.toISOString(),
    quota: { workers, gpus, queuedJobs, requests, gpuWeight },
  };
}

/** Returns the quota as text, `5 workers, 2 GPUs`. Empty without limits. */
function quotaText({ quota = {} }: Account): string {
  const { workers, gpus, queuedJobs, requests, gpuWeight } = quota;
  const parts = [
    [workers, 'workers'],
    [gpus, 'GPUs'],
    [queuedJobs, 'queued jobs'],
    [requests, 'requests in 10 s'],
  ] as const;
  const weight = gpuWeight === undefined ? [] : [`GPU weight ${gpuWeight}`];
  return [
    ...parts.filter(([number]) => number !== undefined).map(([number, what]) => `${number} ${what}`),
    ...weight,
  ].join(', ');
}
