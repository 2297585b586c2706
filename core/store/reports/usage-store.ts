/**
 * Reads metered time. Triggers write it (migration 0001), in the transaction that creates, ends or deletes the metered
 * resource.
 */
import { sameCard } from '../../domain/machines/gpu-pools.ts';
import type { UsageBucket, UsageGrouping, UsageQuery, UsageRecord, UsageTotals } from '../../domain/reports/usage.ts';
import { checkUsageCost, USAGE_RECORDS_MAX } from '../../domain/reports/usage.ts';
import type { Database } from '../sql/database.ts';
import { filterConditions } from '../sql/list-filter.ts';
import type { PageKey, PageRequest } from '../sql/page.ts';
import { invalidCursor, orderOf } from '../sql/page.ts';

const GROUP_COLUMNS: Record<UsageGrouping, string> = {
  SUBJECT: 'subject_id',
  ENDPOINT: 'endpoint_id',
  GPU_TYPE: 'gpu_type_id',
  ACCOUNT: 'account_id',
};
/** Tables that hold the names of groups. */
const NAME_TABLES: Partial<Record<UsageGrouping, string>> = { ENDPOINT: 'endpoint', ACCOUNT: 'account' };
const STEPS: Record<UsageBucket, string> = {
  hour: '1 hour',
  day: '1 day',
  week: '7 days',
  month: '1 month',
  year: '1 year',
};

const STEP_SECONDS: Record<UsageBucket, number> = {
  hour: 3_600,
  day: 86_400,
  week: 604_800,
  month: 28 * 86_400,
  year: 365 * 86_400,
};

/**
 * Orders of sums. Money is compared in millionths of a dollar, as the last digits of a sum may differ from one query to
 * the next.
 */
const ORDERS: Readonly<Record<string, { of: string; as: 'bigint' | 'text' }>> = {
  time: { of: '"startMs"::bigint', as: 'bigint' },
  name: { of: `left(lower(coalesce(nullif("groupName", ''), "group")), 200)`, as: 'text' },
  billed_ms: { of: '"billedMs"::bigint', as: 'bigint' },
  amount: { of: 'round("amountUsd"::numeric * 1000000)::bigint', as: 'bigint' },
};

/** A query of an account. */
interface Asked extends UsageQuery {
  accountId: string;
}

/** Sums: all, or a page of them. `totals` covers all. */
export interface UsageSums {
  records: UsageRecord[];
  next: PageKey | undefined;
  totals: UsageTotals;
}

/** A sum with its cursor. A row with totals and no sum has null in all columns of the sum. */
type Row = UsageRecord & { value: string | null; totalUsd: number; totalMs: number; groupCount: number };

export class UsageStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Sums the usage of an account (empty: of all accounts) by period and group, in this order unless `page` has another.
   * Each span is cut into the periods that it touches, so their number follows from the spans and not from the queried
   * time. Periods are computed in UTC without a zone, so that no setting of the server can shift them. Default of
   * `page`: all. Throws INVALID_REQUEST if there are too many periods or, without a page, too many records, or if sums
   * cannot be ordered or filtered as requested.
   */
  async list(accountId: string, query: UsageQuery, page?: PageRequest): Promise<UsageSums> {
    const { sql } = this.#database;
    const asked = { ...query, accountId };
    const most = page?.size ?? USAGE_RECORDS_MAX;
    const { value, after, direction } = this.#order(page);
    filterConditions({}, page?.view?.filters ?? {});
    await this.#checkCost(asked);
    const rows = await sql<Row[]>`
      WITH ${this.#spans(asked)}, ${this.#named(asked, page?.view?.search ?? '')}, ${this.#told(asked.top)}, totals AS (
        SELECT coalesce(sum("amountUsd"), 0)::float8 AS "totalUsd", coalesce(sum("billedMs"), 0)::float8 AS "totalMs",
          count(DISTINCT "group")::int AS "groupCount" FROM named
      ), page AS (
        SELECT told.*, ${value} AS place FROM told WHERE ${after}
        ORDER BY place ${direction}, "startMs" ${direction}, others ${direction}, "group" ${direction} LIMIT ${most + 1}
      )
      SELECT page.*, place::text AS value, totals.* FROM totals LEFT JOIN page ON true
      ORDER BY place ${direction}, "startMs" ${direction}, others ${direction}, "group" ${direction}`;
    const { totalUsd, totalMs, groupCount } = rows[0]!;
    const found = rows[0]!.value === null ? [] : rows;
    if (!page) checkUsageCost(0, found.length);
    const last = found.length > most ? found[most - 1] : undefined;
    return {
      records: found.slice(0, most).map(recordOf),
      totals: { amountUsd: totalUsd, billedMs: totalMs, groupCount },
      next: last && { at: 0, id: `${last.startMs} ${Number(last.others)} ${last.group}`, value: last.value! },
    };
  }

  /** Throws INVALID_REQUEST if there are too many periods. */
  async #checkCost(asked: Asked): Promise<void> {
    const { sql } = this.#database;
    const [cost] = await sql<{ pieces: number }[]>`
      WITH ${this.#spans(asked)}
      SELECT coalesce(sum(1 + extract(epoch FROM until - since) / ${STEP_SECONDS[asked.bucket]}::float8),
        0)::float8 AS pieces FROM span`;
    checkUsageCost(cost!.pieces, 0);
  }

  /** Returns the order of the sums, and the condition for sums after the previous page. */
  #order(page: PageRequest | undefined) {
    const { sql } = this.#database;
    const order = orderOf(page?.view?.orderBy || 'time', ORDERS);
    const isDescending = page?.view?.descending ?? false;
    const value = sql.unsafe(order.of);
    const direction = isDescending ? sql`DESC` : sql`ASC`;
    if (!page?.after) return { value, direction, after: sql`true` };
    const [, startMs, others, group] = /^(-?\d{1,15}) ([01]) (.*)$/s.exec(page.after.id) ?? [];
    const { value: text = '' } = page.after;
    if (startMs === undefined || (order.as === 'bigint' && !/^-?\d{1,18}$/.test(text))) throw invalidCursor();
    const last = order.as === 'bigint' ? sql`${text}::text::bigint` : sql`${text}::text`;
    const place = sql`(${last}, ${startMs}::text::float8, ${others === '1'}::bool, ${group!}::text)`;
    return {
      value,
      direction,
      after: sql`(${value}, "startMs", others, "group") ${isDescending ? sql`<` : sql`>`} ${place}`,
    };
  }

  /** Returns parts of a WITH: sums of spans by period and group, with the names of groups, limited to the search. */
  #named({ bucket, grouping }: Asked, search: string) {
    const { sql } = this.#database;
    const step = STEPS[bucket];
    const names = NAME_TABLES[grouping];
    return sql`
      piece AS (
        SELECT period, s.*, extract(epoch FROM least(s.until, period + ${step}::interval) - greatest(s.since, period))
          AS seconds
        FROM span s, generate_series(date_trunc(${bucket}, s.since), s.until, ${step}::interval) AS period
      ), summed AS (
        SELECT (extract(epoch FROM period) * 1000)::float8 AS "startMs", ${sql(GROUP_COLUMNS[grouping])} AS "group",
          sum(seconds / 3600 * usd_per_hour)::float8 AS "amountUsd", round(sum(seconds) * 1000)::float8 AS "billedMs",
          coalesce(sum(seconds / 3600 * usd_per_hour) FILTER (WHERE gpu_type_id = ''), 0)::float8 AS "withoutGpuUsd",
          max(disk_gb) AS "diskGb"
        FROM piece WHERE seconds > 0 GROUP BY 1, 2
      ), named AS (
        SELECT s.*, ${names === undefined ? sql`''` : sql`coalesce(n.name, '')`} AS "groupName"
        FROM summed s ${names === undefined ? sql`` : sql`LEFT JOIN ${sql(names)} n ON n.id = s."group"`}
        WHERE ${search} = '' OR strpos(lower(concat_ws(' ', s."group", ${names === undefined ? sql`''` : sql`n.name`})),
          lower(${search})) > 0
      )`;
  }

  /** Returns parts of a WITH: the sums to return. Each group, or the top groups and one sum of all others. */
  #told(top: number | undefined) {
    const { sql } = this.#database;
    if (top === undefined) return sql`told AS (SELECT *, false AS others FROM named)`;
    return sql`
      ranked AS (
        SELECT "group", row_number() OVER (ORDER BY sum("amountUsd") DESC, sum("billedMs") DESC,
          "group") > ${top}::int AS others
        FROM named GROUP BY "group"
      ), told AS (
        SELECT "startMs", others, CASE WHEN others THEN '' ELSE "group" END AS "group", CASE WHEN others THEN ''
          ELSE "groupName" END AS "groupName",
          sum("amountUsd") AS "amountUsd", sum("billedMs") AS "billedMs", max("diskGb") AS "diskGb",
          sum("withoutGpuUsd") AS "withoutGpuUsd"
        FROM named JOIN ranked USING ("group") GROUP BY 1, 2, 3, 4
      )`;
  }

  /** Returns the first parts of a WITH: the matching spans, cut to the queried time. */
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
        WHERE (${accountId} = '' OR s.account_id = ${accountId}) AND s.kind = ${query.kind}
          AND s.started_at < to_timestamp(${endMs}::float8 / 1000)
          AND coalesce(s.ended_at, now()) > to_timestamp(${startMs}::float8 / 1000)
          AND (${query.subjectId} = '' OR s.subject_id = ${query.subjectId})
          AND (${query.endpointId} = '' OR s.endpoint_id = ${query.endpointId})
          AND (s.kind <> 'WORKER' OR cardinality(${visible}::text[]) = 0 OR s.endpoint_id = ANY(${visible}::text[]))
          AND (cardinality(${query.gpuTypeIds}::text[]) = 0
            OR s.gpu_type_id = ANY(${query.gpuTypeIds.map(sameCard)}::text[]))
          AND (cardinality(${query.dataCenterIds}::text[]) = 0 OR s.locations && ${query.dataCenterIds}::text[])
          AND (${query.templateId} = '' OR s.template_id = ${query.templateId})
          AND (${query.imageName} = '' OR s.image_name = ${query.imageName})
      )`;
  }

  /**
   * Deletes spans that ended more than `days` ago, at most `limit`, the oldest first. Returns their number. Spans that
   * began later are not read: they are in the order of their start.
   */
  async reap(days: number, limit: number): Promise<number> {
    const rows = await this.#database.sql`
      WITH old AS (SELECT now() - ${days}::int * interval '1 day' AS at)
      DELETE FROM usage_span WHERE id IN (
        SELECT s.id FROM usage_span s, old WHERE s.ended_at < old.at AND s.id < coalesce(
          (SELECT y.id FROM usage_span y, old WHERE y.started_at >= old.at ORDER BY y.id LIMIT 1), 9223372036854775807)
        ORDER BY s.id LIMIT ${limit})`;
    return rows.count;
  }
}

function recordOf(row: Row): UsageRecord {
  const { startMs, group, groupName, amountUsd, withoutGpuUsd, billedMs, diskGb, others } = row;
  return { startMs, group, groupName, amountUsd, withoutGpuUsd, billedMs, diskGb, others };
}
