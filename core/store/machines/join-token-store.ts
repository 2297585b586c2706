/** Stores the tokens by which machines join, and lets machines in. Of a token only the hash of its text is kept. */
import { and, desc, eq, gt, isNull, lt, sql } from '@slipway/drizzle/orm';
import { apiKey } from '@slipway/drizzle/schema/api-key';
import { joinToken } from '@slipway/drizzle/schema/machines/join-token';
import type { JoinRejection, JoinToken, JoinTokenSettings } from '../../domain/machines/join-token.ts';
import { ENDED_DAYS, OPEN_TOKENS_MAX } from '../../domain/machines/join-token.ts';
import { createdValues } from '../../domain/resources/release-values.ts';
import { recordChange } from '../accounts/audit-rows.ts';
import type { Database, Transaction } from '../sql/database.ts';
import { isDuplicate } from '../sql/transient.ts';

const LISTED_MAX = 1_000;
const IS_OPEN = sql<boolean>`${joinToken.revokedAt} IS NULL AND ${joinToken.expiresAt} > now()
  AND ${joinToken.uses} < ${joinToken.usesMax}`;

/** A machine that wants to join. */
interface JoiningMachine {
  /** Hash of the token's text. */
  tokenHash: Buffer;
  /** Hash of the machine's public key. */
  keyHash: Buffer;
  /** Id of its key, if it gets one. */
  keyId: string;
  machineId: string;
  name: string;
}

/** A machine that was let in. */
interface JoinedMachine {
  pool: string;
  locations: string[];
}

type TokenRow = typeof joinToken.$inferSelect & { isOpen: boolean; isOver: boolean };

export class JoinTokenStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Stores a token. Returns `undefined` if too many are open. Tokens that ended long ago are deleted. */
  async create(
    id: string,
    secretHash: Buffer,
    { pool, locations, usesMax, ttlSeconds }: JoinTokenSettings,
    keyId: string,
  ): Promise<JoinToken | undefined> {
    return this.#database.db.transaction(async (tx) => {
      await tx.delete(joinToken).where(lt(joinToken.expiresAt, sql`now() - ${ENDED_DAYS}::int * interval '1 day'`));
      const open = await tx.$count(joinToken, IS_OPEN);
      if (open >= OPEN_TOKENS_MAX) return undefined;
      const expiresAt = sql`now() + ${ttlSeconds}::int * interval '1 s'`;
      const [row] = await tx
        .insert(joinToken)
        .values({ id, secretHash, pool, locations, usesMax, expiresAt })
        .returning();
      const fields = ['uses_max', 'ttl_seconds', 'pool', 'locations'];
      const values = createdValues({ usesMax, ttlSeconds, pool, locations }, fields);
      await recordChange(tx, { accountId: '', keyId, action: 'CreateJoinToken', subjectId: id, fields, values });
      return tokenOf(row!, true);
    });
  }

  /** Returns the tokens that are open or ended lately, the newest first. */
  async list(): Promise<JoinToken[]> {
    const rows = await this.#database.db
      .select({ row: joinToken, open: IS_OPEN })
      .from(joinToken)
      .where(gt(joinToken.expiresAt, sql`now() - ${ENDED_DAYS}::int * interval '1 day'`))
      .orderBy(desc(joinToken.createdAt), desc(joinToken.id))
      .limit(LISTED_MAX);
    return rows.map(({ row, open }) => tokenOf(row, open));
  }

  /** Revokes a token. Returns false if there is no such token. Idempotent. */
  async revoke(id: string, keyId: string): Promise<boolean> {
    return this.#database.db.transaction(async (tx) => {
      const [row] = await tx.select().from(joinToken).where(eq(joinToken.id, id)).for('update');
      if (!row || row.revokedAt) return row !== undefined;
      await tx.update(joinToken).set({ revokedAt: sql`now()` }).where(eq(joinToken.id, id));
      await recordChange(tx, { accountId: '', keyId, action: 'RevokeJoinToken', subjectId: id, fields: [] });
      return true;
    });
  }

  /**
   * Lets a machine in: makes its public key a key of the machine, and counts a use of the token. A key that this token
   * let in before is let in again without a use. Returns why not, otherwise.
   */
  async join(machine: JoiningMachine): Promise<JoinedMachine | JoinRejection> {
    try {
      return await this.#database.db.transaction((tx) => letIn(tx, machine));
    } catch (error) {
      // Another token let the same machine in at the same time.
      if (isDuplicate(error)) return 'machineHasKey';
      throw error;
    }
  }
}

async function letIn(tx: Transaction, machine: JoiningMachine): Promise<JoinedMachine | JoinRejection> {
  const { tokenHash, keyHash, keyId, machineId, name } = machine;
  const [found] = await tx
    .select({ row: joinToken, isOpen: IS_OPEN, isOver: sql<boolean>`${joinToken.expiresAt} <= now()` })
    .from(joinToken)
    .where(eq(joinToken.secretHash, tokenHash))
    .for('update');
  if (!found) return 'unknown';
  const token = { ...found.row, isOpen: found.isOpen, isOver: found.isOver };
  const { id: joinTokenId, pool, locations } = token;
  const [known] = await tx.select().from(apiKey).where(eq(apiKey.secretHash, keyHash)).for('update');
  if (known?.revokedAt) return 'keyRevoked';
  if (known && known.machineId !== machineId) return 'otherMachine';
  if (known?.joinTokenId === joinTokenId) return { pool, locations };
  if (!token.isOpen) return rejectionOf(token);
  if (known) {
    await tx.update(apiKey).set({ joinTokenId, name }).where(eq(apiKey.id, known.id));
  } else {
    const [other] = await tx
      .select({ id: apiKey.id })
      .from(apiKey)
      .where(and(eq(apiKey.machineId, machineId), isNull(apiKey.revokedAt)));
    if (other) return 'machineHasKey';
    await tx.insert(apiKey).values({ id: keyId, name, scope: 'AGENT', machineId, secretHash: keyHash, joinTokenId });
  }
  await tx
    .update(joinToken)
    .set({ uses: sql`${joinToken.uses} + 1` })
    .where(eq(joinToken.id, joinTokenId));
  const change = { accountId: '', keyId: joinTokenId, action: 'JoinMachine', subjectId: machineId };
  await recordChange(tx, { ...change, subjectName: name, fields: ['name'], values: { name: { new: name } } });
  return { pool, locations };
}

function rejectionOf({ revokedAt, isOver }: TokenRow): JoinRejection {
  if (revokedAt) return 'revoked';
  return isOver ? 'expired' : 'used';
}

function tokenOf({ secretHash: _, ...row }: typeof joinToken.$inferSelect, open: boolean): JoinToken {
  return { ...row, open };
}
