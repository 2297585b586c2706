/** `slipway usage` and `slipway prices`: metered time and what it costs by the operator's price table. */

import type { Price, UsageRecord } from '@slipway/proto/gen/slipway/v1/usage_service';
import { ListUsageRequest, UsageBucket, UsageGrouping, UsageKind } from '@slipway/proto/gen/slipway/v1/usage_service';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { UsageError } from '../failures.ts';
import { dollars, oneOf, time } from '../option-values.ts';

interface UsageOptions {
  of: UsageKind;
  by?: UsageGrouping;
  bucket?: UsageBucket;
  from?: Date;
  to?: Date;
  all?: boolean;
  account?: string;
}

const KINDS = { workers: UsageKind.WORKER, pods: UsageKind.POD, volumes: UsageKind.NETWORK_VOLUME };
const GROUPINGS = {
  id: UsageGrouping.SUBJECT,
  endpoint: UsageGrouping.ENDPOINT,
  gpu: UsageGrouping.GPU_TYPE,
  account: UsageGrouping.ACCOUNT,
};
const BUCKETS = {
  hour: UsageBucket.HOUR,
  day: UsageBucket.DAY,
  week: UsageBucket.WEEK,
  month: UsageBucket.MONTH,
  year: UsageBucket.YEAR,
};
const HOUR_MS = 3_600_000;

/** Adds the commands. */
export function addUsage(program: Command, cli: Cli): void {
  addCommand(program, {
    usage: 'usage [what]',
    description: 'Sum up the metered time and cost of workers (default), pods or volumes.',
    examples: ['usage', 'usage workers --by gpu --bucket month', 'usage pods --from 2026-01-01 --to 2026-02-01 --json'],
  })
    .option('--by <group>', 'endpoint (default for workers), gpu, account, or id (default)', oneOf(GROUPINGS))
    .option('--all', 'usage of all accounts; for the operator')
    .option('--account <id>', 'usage of this account; for the operator')
    .option('--bucket <length>', 'hour, day (default), week, month or year, by UTC', oneOf(BUCKETS))
    .option('--from <time>', 'a date or an ISO 8601 time; default: 30 days ago', time)
    .option('--to <time>', 'a date or an ISO 8601 time; default: now', time)
    .action((what: string = 'workers', options: Omit<UsageOptions, 'of'>) =>
      showUsage(cli, { ...options, of: kindOf(what) }),
    );
  const prices = addCommand(program, {
    usage: 'prices',
    description: 'Show and change the price table.',
    examples: ['prices list', 'prices set "NVIDIA L4" 0.45'],
  });
  addCommand(prices, {
    usage: 'list',
    description: 'List the prices. Anything without a price costs nothing.',
    examples: ['prices list', 'prices list --json'],
  }).action(() => listPrices(cli));
  addCommand(prices, {
    usage: 'set <item> <usd-per-hour>',
    description:
      'Set the price of one GPU, of CPU (a worker or pod without a GPU), or of VOLUME_GB, for an hour. ' +
      'For the operator.',
    examples: ['prices set "NVIDIA L4" 0.45', 'prices set CPU 0.02'],
  }).action(async (item: string, amount: string) => {
    const price = { item, usdPerHour: dollars(amount) };
    await cli.operator.usage.call((client) => client.setPrices, { prices: [price] });
    cli.output.result(price, () =>
      cli.output.line(`${item} costs ${price.usdPerHour} USD an hour. What runs already keeps its price.`),
    );
  });
  addCommand(prices, {
    usage: 'delete <item>',
    description: 'Remove a price: the item costs nothing from then on. For the operator.',
    examples: ['prices delete "NVIDIA L4"'],
  })
    .alias('rm')
    .action(async (item: string) => {
      await cli.operator.usage.call((client) => client.deletePrices, { items: [item] });
      cli.output.result({ item, deleted: true }, () =>
        cli.output.line(`${item} has no price any more. What runs already keeps its price.`),
      );
    });
}

function kindOf(what: string): UsageKind {
  const kind = Object.entries(KINDS).find(([word]) => word === what)?.[1];
  if (kind === undefined)
    throw new UsageError(`Usage of ${JSON.stringify(what)}? It must be one of ${Object.keys(KINDS).join(', ')}.`);
  return kind;
}

async function showUsage(
  cli: Cli,
  { of: kind, by, bucket, from, to, all = false, account: accountId }: UsageOptions,
): Promise<void> {
  const grouping = by ?? (kind === UsageKind.WORKER ? UsageGrouping.ENDPOINT : UsageGrouping.SUBJECT);
  const request = ListUsageRequest.fromPartial({ kind, grouping, bucket, startTime: from, endTime: to, accountId });
  const core = all || accountId !== undefined ? cli.operator : cli.core;
  const { records } = await core.usage.call((client) => client.listUsage, request);
  const { output } = cli;
  output.result(
    records.map((record) => presentUsage(record, kind, grouping)),
    () => {
      output.table<UsageRecord>(
        [
          {
            title: 'FROM',
            text: ({ startTime }) => startTime?.toISOString().slice(0, bucket === UsageBucket.HOUR ? 16 : 10) ?? '',
          },
          { title: groupTitle(kind, grouping), text: groupText },
          { title: 'HOURS', text: ({ billedMs }) => (billedMs / HOUR_MS).toFixed(2), right: true },
          { title: 'USD', text: ({ amountUsd }) => amountUsd.toFixed(2), right: true },
        ],
        records,
        'Nothing was used in this time.',
      );
      if (records.length > 1)
        output.note(`${records.reduce((sum, { amountUsd }) => sum + amountUsd, 0).toFixed(2)} USD in all`);
    },
  );
}

function groupTitle(kind: UsageKind, grouping: UsageGrouping): string {
  if (grouping === UsageGrouping.GPU_TYPE) return 'GPU';
  if (grouping === UsageGrouping.ENDPOINT) return 'ENDPOINT';
  if (grouping === UsageGrouping.ACCOUNT) return 'ACCOUNT';
  return kind === UsageKind.NETWORK_VOLUME ? 'VOLUME' : 'POD';
}

function groupText({ subjectId, endpointId, gpuTypeId, accountId, groupName }: UsageRecord): string {
  return groupName || accountId || subjectId || endpointId || gpuTypeId || 'without a GPU';
}

/** Returns a record with the field names of GET /v1/billing/…. */
function presentUsage(record: UsageRecord, kind: UsageKind, grouping: UsageGrouping) {
  return {
    amount: record.amountUsd,
    time: record.startTime?.toISOString(),
    timeBilledMs: record.billedMs,
    diskSpaceBilledGb: record.diskGb,
    ...groupFields(record, kind, grouping),
  };
}

function groupFields(record: UsageRecord, kind: UsageKind, grouping: UsageGrouping) {
  switch (grouping) {
    case UsageGrouping.GPU_TYPE:
      return { gpuTypeId: record.gpuTypeId };
    case UsageGrouping.ENDPOINT:
      return { endpointId: record.endpointId, endpointName: record.groupName };
    case UsageGrouping.ACCOUNT:
      return { accountId: record.accountId, accountName: record.groupName };
    default:
      return kind === UsageKind.NETWORK_VOLUME ? { networkVolumeId: record.subjectId } : { podId: record.subjectId };
  }
}

async function listPrices(cli: Cli): Promise<void> {
  const { prices } = await cli.core.usage.call((client) => client.listPrices, {});
  cli.output.result(prices, () =>
    cli.output.table<Price>(
      [
        { title: 'ITEM', text: ({ item }) => item },
        { title: 'USD AN HOUR', text: ({ usdPerHour }) => String(usdPerHour), right: true },
      ],
      prices,
      'No prices are set: everything costs nothing.',
    ),
  );
}
