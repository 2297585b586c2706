/** Usage and its cost for the usage page: sums by period and group, computed by core. */

import type { UsageRecord } from '@slipway/proto/gen/slipway/v1/usage_service';
import { UsageBucket, UsageGrouping, UsageKind } from '@slipway/proto/gen/slipway/v1/usage_service';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import type { ConsoleParts } from '../console-parts.ts';
import { isOperator } from '../console-parts.ts';
import type { ListView } from '../views.ts';
import type { UsageView } from '../views-of-usage.ts';
import { USAGE_TOP } from '../views-of-usage.ts';
import { iso, optionsOf, pageAsked, textOf } from './list-query.ts';

const KINDS = { workers: UsageKind.WORKER, pods: UsageKind.POD, volumes: UsageKind.NETWORK_VOLUME };
const GROUPINGS = {
  endpoint: UsageGrouping.ENDPOINT,
  gpu: UsageGrouping.GPU_TYPE,
  account: UsageGrouping.ACCOUNT,
  subject: UsageGrouping.SUBJECT,
};
const BUCKETS = { hour: UsageBucket.HOUR, day: UsageBucket.DAY, week: UsageBucket.WEEK, month: UsageBucket.MONTH };
const HOUR_MS = 3_600_000;
const HOURS_MAX = 24 * 366;
/** Characters of an id or of a type of GPU. */
const ONLY_LENGTH_MAX = 200;

/**
 * Form of a page's token. It contains the end time of the sums of the first page, because usage that is still running
 * would have grown since.
 */
const PAGE = /^(?<until>\d{1,15}) (?<token>[\w-]+)$/;

/**
 * Adds the routes: the sums, as a list (list-query.ts), and `/course`, the data of the charts. Query: `kind`, `by`,
 * `bucket` and `hours` (time span before now); `search`; optional filters `endpoint`, `gpu` (a type) and `account`.
 */
export function usageRoutes(
  app: FastifyInstance,
  { core, clock }: ConsoleParts,
  onRequest: onRequestAsyncHookHandler,
): void {
  app.get('/console/api/usage', { onRequest }, async (request): Promise<ListView> => {
    const { pageToken: page, ...asked } = pageAsked(request);
    const { until, token: pageToken = '' } = PAGE.exec(page)?.groups ?? {};
    if (page !== '' && until === undefined)
      throw new CoreError('INVALID_REQUEST', '"page" must be the "next" of the page before.');
    const endMs = until === undefined ? clock.nowMs() : Number(until);
    const usage = { ...usageAsked(request, endMs), ...asked, pageToken };
    const { records, nextPageToken } = await core.usage.call((client) => client.listUsage, usage, optionsOf(request));
    return { rows: records.map(recordView), next: nextPageToken === '' ? '' : `${endMs} ${nextPageToken}` };
  });
  app.get('/console/api/usage/course', { onRequest }, async (request): Promise<UsageView> => {
    const {
      view: { search },
    } = pageAsked(request);
    const endMs = clock.nowMs();
    const usage = {
      ...usageAsked(request, endMs),
      top: USAGE_TOP,
      view: { search, orderBy: '', descending: false, filters: {} },
    };
    const { records, totals, nextPageToken } = await core.usage.call(
      (client) => client.listUsage,
      usage,
      optionsOf(request),
    );
    if (nextPageToken !== '')
      throw new CoreError(
        'INVALID_REQUEST',
        'This is more periods than a chart shows. Choose longer periods or a shorter time.',
      );
    if (!totals) throw new CoreError('INTERNAL', 'core answered without totals');
    const { amountUsd: amount, billedMs, groupCount } = totals;
    return {
      startMs: usage.startTime.getTime(),
      endMs,
      amount,
      billedMs,
      groupCount,
      records: records.map(recordView),
    };
  });
}

/** Returns the request to core. */
function usageAsked(request: FastifyRequest, endMs: number) {
  const hours = Number(textOf(request, 'hours') || 720);
  if (!Number.isInteger(hours) || hours < 1 || hours > HOURS_MAX)
    throw new CoreError('INVALID_REQUEST', `"hours" must be from 1 to ${HOURS_MAX}.`);
  const account = only(request, 'account');
  const gpu = only(request, 'gpu');
  return {
    kind: wordOf(request, 'kind', KINDS, 'workers'),
    bucket: wordOf(request, 'bucket', BUCKETS, 'day'),
    grouping: wordOf(request, 'by', GROUPINGS, isOperator(request) ? 'account' : 'endpoint'),
    startTime: new Date(endMs - hours * HOUR_MS),
    endTime: new Date(endMs),
    subjectId: '',
    endpointId: only(request, 'endpoint'),
    gpuTypeIds: gpu === '' ? [] : [gpu],
    dataCenterIds: [],
    templateId: '',
    imageName: '',
    ...(account === '' ? {} : { accountId: account }),
  };
}

function wordOf<Value>(
  request: FastifyRequest,
  name: string,
  words: Readonly<Record<string, Value>>,
  otherwise: string,
): Value {
  const word = textOf(request, name) || otherwise;
  if (!Object.hasOwn(words, word))
    throw new CoreError('INVALID_REQUEST', `"${name}" must be one of ${Object.keys(words).join(', ')}.`);
  return words[word]!;
}

function only(request: FastifyRequest, name: string): string {
  const text = textOf(request, name).trim();
  if (text.length > ONLY_LENGTH_MAX)
    throw new CoreError('INVALID_REQUEST', `"${name}" must have at most ${ONLY_LENGTH_MAX} characters.`);
  return text;
}

function recordView({
  startTime,
  amountUsd,
  billedMs,
  groupName,
  endpointId,
  gpuTypeId,
  accountId,
  subjectId,
  others,
}: UsageRecord) {
  const group = others ? '' : endpointId || accountId || gpuTypeId || subjectId || 'without a GPU';
  return { time: iso(startTime), group, name: groupName === '' ? group : groupName, amount: amountUsd, billedMs };
}
