/** Reads metered time. Triggers write it (migration 0001), in the transaction of whatever makes, ends or deletes the thing. */
import { sameCard } from '../domain/gpu-pools.ts';
import { USAGE_RECORDS_MAX, checkUsageCost } from '../domain/usage.ts';
import type { UsageBucket, UsageGrouping, UsageQuery, UsageRecord } from '../domain/usage.ts';
import type { Database } from './database.ts';

const GROUP_COLUMNS: Record<UsageGrouping, string> = {
  SUBJECT: 'subject_id', ENDPOINT: 'endpoint_id', GPU_TYPE: 'gpu_type_id', ACCOUNT: 'account_id',
};
/** Where the names of groups are. */
const NAME_TABLES: Partial<Record<UsageGrouping, string>> = { ENDPOINT: 'endpoint', ACCOUNT: 'account' };
const STEPS: Record<UsageBucket, string> = { hour: '1 hour', day: '1 day', week: '7 days', month: '1 month', year: '1 year' };

const STEP_SECONDS: Record<UsageBucket, number> = { hour: 3_600, day: 86_400, week: 604_800, month: 28 * 86_400, year: 365 * 86_400 };

/** What one account asks for. */
interface Asked extends UsageQuery {
  accountId: string;
}

export class UsageStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Sums an account's usage up, that of all when it is empty, by period and group, in this order. Each span is cut into the periods it touches:
   * their number is what the spans cover, not what was asked for. Periods are counted in UTC without a zone, so that no setting of the server can
   * shift them. INVALID_REQUEST: too many of them, or of records.
   */
  async list(accountId: string, query: UsageQuery): Promise<UsageRecord[]> {
    const { sql } = this.#database;
    const asked = { ...query, accountId };
    const { bucket, grouping } = asked;
    const step = STEPS[bucket];
    const names = NAME_TABLES[grouping];
    const [cost] = await sql<{ pieces: number }[]>`
      WITH ${this.#spans(asked)}
      SELECT coalesce(sum(1 + extract(epoch FROM until - since) / ${STEP_SECONDS[bucket]}::float8), 0)::float8 AS pieces FROM span`;
    checkUsageCost(cost!.pieces, 0);
    const records = await sql<UsageRecord[]>`
      WITH ${this.#spans(asked)}, piece AS (
        SELECT period, s.*, extract(epoch FROM least(s.until, period + ${step}::interval) - greatest(s.since, period)) AS seconds
        FROM span s, generate_series(date_trunc(${bucket}, s.since), s.until, ${step}::interval) AS period
      ), summed AS (
        SELECT (extract(epoch FROM period) * 1000)::float8 AS "startMs", ${sql(GROUP_COLUMNS[grouping])} AS "group",
          sum(seconds / 3600 * usd_per_hour)::float8 AS "amountUsd", round(sum(seconds) * 1000)::float8 AS "billedMs",
          max(disk_gb) AS "diskGb"
        FROM piece WHERE seconds > 0 GROUP BY 1, 2 ORDER BY 1, 2 LIMIT ${USAGE_RECORDS_MAX + 1}
      )
      SELECT s.*, ${names === undefined ? sql`''` : sql`coalesce((SELECT n.name FROM ${sql(names)} n WHERE n.id = s."group"), '')`} AS "groupName"
      FROM summed s ORDER BY 1, 2`;
    checkUsageCost(0, records.length);
    return records;
  }

  /** The spans that are meant, cut to the time that was asked for: the first parts of a WITH. */
  #spans({ accountId, startMs, endMs, ...query }: Asked) {
    const visible = [...query.visibleEndpointIds];
    return this.#database.sql`
      asked AS (
        SELECT to_timestamp(${startMs}::float8 / 1000) AT TIME ZONE 'UTC' AS since,
          to_timestamp(${endMs}::float8 / 1000) AT TIME ZONE 'UTC' AS until
      ), span AS (
        SELECT s.*, greatest(s.started_at AT TIME ZONE 'UTC', a.since) AS since,
          least(coalesce(s.ended_at, now()) AT TIME ZONE 'UTC', a.until) AS until
        FROM usage_span s, asked a
        WHERE (${accountId} = '' OR s.account_id = ${accountId}) AND s.kind = ${query.kind} AND s.started_at < to_timestamp(${endMs}::float8 / 1000)
          AND coalesce(s.ended_at, now()) > to_timestamp(${startMs}::float8 / 1000)
          AND (${query.subjectId} = '' OR s.subject_id = ${query.subjectId})
          AND (${query.endpointId} = '' OR s.endpoint_id = ${query.endpointId})
          AND (s.kind <> 'WORKER' OR cardinality(${visible}::text[]) = 0 OR s.endpoint_id = ANY(${visible}::text[]))
          AND (cardinality(${query.gpuTypeIds}::text[]) = 0 OR s.gpu_type_id = ANY(${query.gpuTypeIds.map(sameCard)}::text[]))
          AND (cardinality(${query.dataCenterIds}::text[]) = 0 OR s.locations && ${query.dataCenterIds}::text[])
          AND (${query.templateId} = '' OR s.template_id = ${query.templateId})
          AND (${query.imageName} = '' OR s.image_name = ${query.imageName})
      )`;
  }
}
