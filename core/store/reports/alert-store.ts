/** Stores addresses for alerts, the problems that were sent, and the messages that wait. */
import { and, eq, sql } from '@slipway/drizzle/orm';
import { alertTarget } from '@slipway/drizzle/schema/alerts/alert';
import type { Actor } from '../../domain/accounts/permission.ts';
import type { AlertMessage, AlertRecord, AlertTargetKind } from '../../domain/reports/alert.ts';
import { ALERT_AFTER_MS, ALERT_TARGETS_MAX, identityOf } from '../../domain/reports/alert.ts';
import type { Problem } from '../../domain/reports/problem.ts';
import { createdValues, SECRET_VALUE } from '../../domain/resources/release-values.ts';
import { invalid } from '../../domain/settings/fields.ts';
import { recordChange } from '../accounts/audit-rows.ts';
import type { Database, Fragment, Sql } from '../sql/database.ts';
import { inTransaction } from '../sql/database.ts';
import { textArray } from '../sql/pack.ts';

/** An address. */
export type AlertTarget = typeof alertTarget.$inferSelect;

type NewTarget = Pick<AlertTarget, 'id' | 'name' | 'kind' | 'host' | 'urlSealed'>;

/** A message that is due, with its address. */
export interface AlertCall {
  target: Pick<AlertTarget, 'id' | 'kind' | 'urlSealed' | 'accountId'>;
  /** Name of the account. Empty: it belongs to the operator, or is gone. */
  accountName: string;
  news: AlertMessage;
  /** Tries that failed. */
  tries: number;
}

interface AlertRow {
  id: number;
  problem: Problem;
  began_ms: number;
  ended_ms: number | null;
}

interface CallRow extends AlertRow {
  target_id: string;
  account_id: string;
  account_name: string | null;
  kind: AlertTargetKind;
  url_sealed: Buffer;
  of_end: boolean;
  tries: number;
}

/** Time for which alerts are kept after their end. */
const KEPT_DAYS = 30;
/** Old alerts that one call deletes. */
const REAPED_MAX = 1_000;

export class AlertStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Stores an address. Throws INVALID_REQUEST if the account has as many as it may. */
  async create(actor: Actor, fields: NewTarget): Promise<AlertTarget> {
    const { accountId } = actor;
    return this.#database.db.transaction(async (tx) => {
      // Two creations at once must not both be the last one.
      await tx.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${`alert targets of ${accountId}`}, 0))`);
      const before = await tx
        .select({ id: alertTarget.id })
        .from(alertTarget)
        .where(eq(alertTarget.accountId, accountId));
      if (before.length >= ALERT_TARGETS_MAX)
        throw invalid(`The account has ${ALERT_TARGETS_MAX} addresses for alerts, and may have no more; delete one.`);
      const [made] = await tx
        .insert(alertTarget)
        .values({ accountId, ...fields })
        .returning();
      await recordChange(tx, {
        ...{ accountId, keyId: actor.keyId },
        ...{ action: 'CreateAlertTarget', subjectId: fields.id, fields: ['name', 'kind', 'url'] },
        values: { ...createdValues(fields, ['name', 'kind']), url: SECRET_VALUE },
      });
      return made!;
    });
  }

  /** Returns the addresses of an account, oldest first. */
  async targets(accountId: string): Promise<AlertTarget[]> {
    return this.#database.db
      .select()
      .from(alertTarget)
      .where(eq(alertTarget.accountId, accountId))
      .orderBy(alertTarget.createdAt, alertTarget.id);
  }

  /** Returns an address. `undefined` if it is not of this account. */
  async target(id: string, accountId: string): Promise<AlertTarget | undefined> {
    const [found] = await this.#database.db.select().from(alertTarget).where(own(id, accountId));
    return found;
  }

  /** Silences an address for `ms` milliseconds from now. Returns `undefined` if it is not of this account. */
  async silence({ accountId, keyId }: Actor, id: string, ms: number): Promise<AlertTarget | undefined> {
    return this.#database.db.transaction(async (tx) => {
      const silentUntil = ms === 0 ? null : sql`now() + ${ms}::bigint * interval '1 ms'`;
      const [changed] = await tx.update(alertTarget).set({ silentUntil }).where(own(id, accountId)).returning();
      if (changed)
        await recordChange(tx, {
          ...{ accountId, keyId },
          ...{ action: 'SilenceAlertTarget', subjectId: id, fields: ['silence_ms'] },
          values: { silence_ms: { new: ms } },
        });
      return changed;
    });
  }

  /**
   * Deletes an address. Problems of an account without an address are not watched: they end. Returns false if unknown.
   */
  async remove({ accountId, keyId }: Actor, id: string): Promise<boolean> {
    return this.#database.db.transaction(async (tx) => {
      const [removed] = await tx.delete(alertTarget).where(own(id, accountId)).returning({ name: alertTarget.name });
      if (!removed) return false;
      await tx.execute(sql`
        UPDATE alert SET ended_at = seen_at WHERE account_id = ${accountId} AND ended_at IS NULL
          AND NOT EXISTS (SELECT FROM alert_target WHERE account_id = ${accountId})`);
      await recordChange(tx, {
        ...{ accountId, keyId, action: 'DeleteAlertTarget', subjectId: id },
        ...{ subjectName: removed.name, fields: [] },
      });
      return true;
    });
  }

  /** Returns a page of the alerts of an account, newest first, and whether there are more. */
  async list(accountId: string, limit: number, beforeId: number | undefined): Promise<AlertRecord[]> {
    const { sql: client } = this.#database;
    const rows = await client<AlertRow[]>`
      SELECT ${columns(client)} FROM alert a
      WHERE a.account_id = ${accountId} AND a.id < ${beforeId ?? Number.MAX_SAFE_INTEGER}
        AND a.announced_at IS NOT NULL
      ORDER BY a.id DESC LIMIT ${limit}::int`;
    return rows.map(recordOf);
  }

  /** Returns the accounts that have an address. Empty: the operator. */
  async accounts(): Promise<string[]> {
    const rows = await this.#database.sql<{ id: string }[]>`
      SELECT DISTINCT account_id AS id FROM alert_target`;
    return rows.map(({ id }) => id);
  }

  /**
   * Records the current problems of an account. Orders messages about problems that have lasted long enough, and about
   * the ends of sent ones. Idempotent.
   */
  async record(accountId: string, problems: readonly Problem[]): Promise<void> {
    const byIdentity = new Map(problems.toReversed().map((problem) => [identityOf(problem), problem]));
    await inTransaction(this.#database.sql, async (tx) => {
      await tx`
        INSERT INTO alert (account_id, identity, problem)
        SELECT ${accountId}, g.identity, g.problem::jsonb
        FROM unnest(${textArray([...byIdentity.keys()])}::text[],
          ${textArray([...byIdentity.values()].map((problem) => JSON.stringify(problem)))}::text[])
          AS g(identity, problem)
        ON CONFLICT (account_id, identity) WHERE ended_at IS NULL
          DO UPDATE SET seen_at = now(), problem = excluded.problem`;
      await tx`
        WITH changed AS (
          UPDATE alert SET announced_at = now() WHERE account_id = ${accountId} AND ended_at IS NULL
            AND announced_at IS NULL AND seen_at >= began_at + ${ALERT_AFTER_MS}::int * interval '1 ms' RETURNING id
        )
        ${ordered(tx, accountId, false)}`;
      // A problem that came and went within a minute is no alert.
      await tx`DELETE FROM alert WHERE account_id = ${accountId} AND ended_at IS NULL AND announced_at IS NULL
        AND ${isGone(tx)}`;
      await tx`
        WITH changed AS (
          UPDATE alert SET ended_at = seen_at WHERE account_id = ${accountId} AND ended_at IS NULL AND ${isGone(tx)}
          RETURNING id, announced_at
        )
        ${ordered(tx, accountId, true)} WHERE t.created_at <= a.announced_at`;
    });
  }

  /**
   * Leases up to `limit` due messages for `holdMs`, at most `accountLimit` of an account, the first ones of each before
   * the second ones. No other replica takes them in that time.
   */
  async takeDue(limit: number, accountLimit: number, holdMs: number): Promise<AlertCall[]> {
    const { sql: client } = this.#database;
    const rows = await client<CallRow[]>`
      WITH waiting AS MATERIALIZED (
        SELECT c.target_id, c.alert_id, c.of_end, c.due_at,
          row_number() OVER (PARTITION BY t.account_id ORDER BY c.due_at) AS place
        FROM alert_call c JOIN alert_target t ON t.id = c.target_id WHERE c.due_at <= now()
      ), due AS MATERIALIZED (
        SELECT c.target_id, c.alert_id, c.of_end FROM waiting w
        JOIN alert_call c ON c.target_id = w.target_id AND c.alert_id = w.alert_id AND c.of_end = w.of_end
        WHERE w.place <= ${accountLimit}::int AND c.due_at <= now() ORDER BY w.place, w.due_at
        LIMIT ${limit}::int FOR UPDATE OF c SKIP LOCKED
      )
      UPDATE alert_call c SET due_at = now() + ${holdMs}::int * interval '1 ms'
      FROM due d JOIN alert_target t ON t.id = d.target_id JOIN alert a ON a.id = d.alert_id
        LEFT JOIN account o ON o.id = t.account_id
      WHERE c.target_id = d.target_id AND c.alert_id = d.alert_id AND c.of_end = d.of_end
      RETURNING c.target_id, c.of_end, c.tries, t.account_id, t.kind, t.url_sealed, o.name AS account_name,
        ${columns(client)}`;
    return rows.map((row) => ({
      target: { id: row.target_id, kind: row.kind, urlSealed: row.url_sealed, accountId: row.account_id },
      accountName: row.account_name ?? '',
      news: { alert: recordOf(row), ofEnd: row.of_end },
      tries: row.tries,
    }));
  }

  /** Ends a message that was taken, or given up because of `error`. */
  async end({ target, news }: AlertCall, error: string | undefined): Promise<void> {
    const { sql: client } = this.#database;
    await client`DELETE FROM alert_call WHERE ${isCall(client, target.id, news)}`;
    await this.recordResult(target.id, error);
  }

  /** Schedules the next try of a message in `delayMs`. */
  async postpone({ target, news }: AlertCall, delayMs: number, error: string): Promise<void> {
    const { sql: client } = this.#database;
    await client`UPDATE alert_call SET tries = tries + 1, due_at = now() + ${delayMs}::bigint * interval '1 ms'
      WHERE ${isCall(client, target.id, news)}`;
    await this.recordResult(target.id, error);
  }

  /** Records what came of the latest message to an address. */
  async recordResult(targetId: string, error: string | undefined): Promise<void> {
    await this.#database.sql`
      UPDATE alert_target SET last_error = ${error ?? ''}::text,
        delivered_at = CASE WHEN ${error === undefined}::boolean THEN now() ELSE delivered_at END
      WHERE id = ${targetId}`;
  }

  /** Deletes old alerts. */
  async reap(): Promise<void> {
    await this.#database.sql`
      DELETE FROM alert WHERE id IN (SELECT id FROM alert WHERE ended_at IS NOT NULL
        AND ended_at < now() - ${KEPT_DAYS}::int * interval '1 day' ORDER BY ended_at LIMIT ${REAPED_MAX}::int)`;
  }
}

function own(id: string, accountId: string) {
  return and(eq(alertTarget.id, id), eq(alertTarget.accountId, accountId));
}

/** Returns the columns of an alert called a. */
function columns(client: Sql): Fragment {
  return client`a.id, a.problem, (extract(epoch FROM a.began_at) * 1000)::bigint AS began_ms,
    (extract(epoch FROM a.ended_at) * 1000)::bigint AS ended_ms`;
}

/** Orders messages about the row set `a` for the addresses of an account that are not silent. */
function ordered(client: Sql, accountId: string, ofEnd: boolean): Fragment {
  return client`INSERT INTO alert_call (target_id, alert_id, of_end)
    SELECT t.id, a.id, ${ofEnd}::boolean FROM changed a JOIN alert_target t ON t.account_id = ${accountId}
      AND (t.silent_until IS NULL OR t.silent_until <= now())`;
}

/** Returns the condition that the problem was not seen for so long that it is over. */
function isGone(client: Sql): Fragment {
  return client`seen_at < now() - ${ALERT_AFTER_MS}::int * interval '1 ms'`;
}

function isCall(client: Sql, targetId: string, { alert, ofEnd }: AlertMessage): Fragment {
  return client`target_id = ${targetId} AND alert_id = ${alert.id} AND of_end = ${ofEnd}`;
}

function recordOf({ id, problem, began_ms: beganMs, ended_ms: endedMs }: AlertRow): AlertRecord {
  return { id, problem, beganAt: new Date(beganMs), endedAt: endedMs === null ? undefined : new Date(endedMs) };
}
