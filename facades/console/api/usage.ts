/** Usage and what it costs, as the usage page shows it: summed up by core, by period and group. */
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { UsageBucket, UsageGrouping, UsageKind } from '../../../proto/gen/slipway/v1/usage_service.ts';
import type { UsageRecord } from '../../../proto/gen/slipway/v1/usage_service.ts';
import { CoreError } from '../../../proto/wire/reason.ts';
import { isOperator } from '../console-parts.ts';
import type { ConsoleParts } from '../console-parts.ts';
import type { UsageView } from '../views.ts';
import { iso, optionsOf, textOf } from './list-query.ts';

const KINDS = { workers: UsageKind.WORKER, pods: UsageKind.POD, volumes: UsageKind.NETWORK_VOLUME };
const GROUPINGS = {
  endpoint: UsageGrouping.ENDPOINT, gpu: UsageGrouping.GPU_TYPE, account: UsageGrouping.ACCOUNT, subject: UsageGrouping.SUBJECT,
};
const BUCKETS = { hour: UsageBucket.HOUR, day: UsageBucket.DAY, week: UsageBucket.WEEK, month: UsageBucket.MONTH };
const HOUR_MS = 3_600_000;
const HOURS_MAX = 24 * 366;
/** Characters of an id or of a type of GPU. */
const ONLY_LENGTH_MAX = 200;

/** Adds the route. Query: `kind`, `by`, `bucket` and `hours`, how far back; only of this `endpoint`, `gpu` (its type) or `account`. */
export function usageRoutes(app: FastifyInstance, { core, clock }: ConsoleParts, onRequest: onRequestAsyncHookHandler): void {
  app.get('/console/api/usage', { onRequest }, async (request): Promise<UsageView> => {
    const hours = Number(textOf(request, 'hours') || 720);
    if (!Number.isInteger(hours) || hours < 1 || hours > HOURS_MAX) throw new CoreError('INVALID_REQUEST', `"hours" must be from 1 to ${HOURS_MAX}.`);
    const wordOf = <Value>(name: string, words: Readonly<Record<string, Value>>, otherwise: string): Value => {
      const word = textOf(request, name) || otherwise;
      if (!Object.hasOwn(words, word)) throw new CoreError('INVALID_REQUEST', `"${name}" must be one of ${Object.keys(words).join(', ')}.`);
      return words[word]!;
    };
    const only = (name: string): string => {
      const text = textOf(request, name).trim();
      if (text.length > ONLY_LENGTH_MAX) throw new CoreError('INVALID_REQUEST', `"${name}" must have at most ${ONLY_LENGTH_MAX} characters.`);
      return text;
    };
    const endMs = clock.nowMs();
    const startMs = endMs - hours * HOUR_MS;
    const asked = {
      kind: wordOf('kind', KINDS, 'workers'), bucket: wordOf('bucket', BUCKETS, 'day'),
      grouping: wordOf('by', GROUPINGS, isOperator(request) ? 'account' : 'endpoint'),
      startTime: new Date(startMs), endTime: undefined, subjectId: '', endpointId: only('endpoint'), gpuTypeIds: only('gpu') === '' ? [] : [only('gpu')],
      dataCenterIds: [], templateId: '', imageName: '', ...(only('account') === '' ? {} : { accountId: only('account') }),
    };
    const { records } = await core.usage.call((client) => client.listUsage, asked, optionsOf(request));
    return { startMs, endMs, records: records.map(recordView) };
  });
}

function recordView({ startTime, amountUsd, billedMs, groupName, endpointId, gpuTypeId, accountId, subjectId }: UsageRecord) {
  const group = endpointId || accountId || gpuTypeId || subjectId || 'without a GPU';
  return { time: iso(startTime), group, name: groupName === '' ? group : groupName, amount: amountUsd, billedMs };
}
