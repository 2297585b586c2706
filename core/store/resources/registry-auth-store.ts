/** Stores credentials for container registries. Their secrets are sealed before they get here and stay sealed. */
import { and, eq, inArray, sql } from '@slipway/drizzle/orm';
import { pod } from '@slipway/drizzle/schema/pod';
import { registryAuth } from '@slipway/drizzle/schema/registry-auth';
import { template } from '@slipway/drizzle/schema/template';
import type { Actor } from '../../domain/accounts/permission.ts';
import type { CreationKey } from '../../domain/resources/creation-key.ts';
import type { RegistryAuth } from '../../domain/resources/registry-auth.ts';
import { registryAuthNameTaken } from '../../domain/resources/registry-auth.ts';
import { SECRET_VALUE } from '../../domain/resources/release-values.ts';
import { recordChange } from '../accounts/audit-rows.ts';
import type { Database, Transaction } from '../sql/database.ts';
import type { Page, PageRequest } from '../sql/page.ts';
import { byText, readPage } from '../sql/page.ts';
import { retryOnDeadlock } from '../sql/transient.ts';
import { claimCreation } from './creation-rows.ts';
import { dropRegistryAuth } from './template-rows.ts';

/** Users of credentials: ids, at most ten of each kind. */
export interface RegistryAuthUsers {
  templateIds: string[];
  podIds: string[];
}

/** Result of a deletion: the endpoints whose templates lost the credentials, or the users that prevent it. */
type RegistryAuthRemoval = { removed: true; endpointIds: string[] } | { removed: false; usedBy: RegistryAuthUsers };

/** Result of replaced secrets, with the workloads that had failed with the previous ones. */
interface RegistryAuthUpdate {
  auth: RegistryAuth;
  /** Endpoints whose crashed workers may be replaced at once. */
  endpointIds: string[];
  /** Machines whose pods begin a new run. */
  machineIds: string[];
}

const USERS_NAMED_MAX = 10;
/** All columns except the secrets. */
const SHOWN = {
  id: registryAuth.id,
  accountId: registryAuth.accountId,
  name: registryAuth.name,
  createdAt: registryAuth.createdAt,
};

/** Values of credentials that were set. */
const HIDDEN_CREDENTIALS = { username: SECRET_VALUE, password: SECRET_VALUE };

export class RegistryAuthStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Stores credentials. Throws NAME_TAKEN if the account has credentials of this name. RepeatedCreation: they were
   * stored before.
   */
  async create(
    id: string,
    actor: Actor,
    { name, credentialsSealed }: { name: string; credentialsSealed: Buffer },
    key: CreationKey | undefined,
  ): Promise<RegistryAuth> {
    return this.#database.db.transaction(async (tx) => {
      const { accountId } = actor;
      await claimCreation(tx, key, id);
      const [row] = await tx
        .insert(registryAuth)
        .values({ id, accountId, name, credentialsSealed })
        .onConflictDoNothing({ target: [registryAuth.accountId, registryAuth.name] })
        .returning(SHOWN);
      if (!row) throw registryAuthNameTaken(name);
      const fields = ['name', 'username', 'password'];
      const values = { name: { new: name }, ...HIDDEN_CREDENTIALS };
      await recordChange(tx, { ...actor, action: 'CreateRegistryAuth', subjectId: id, fields, values });
      return row;
    });
  }

  /** Returns credentials without the secrets. `undefined` if there are none in this account. */
  async get(id: string, accountId: string): Promise<RegistryAuth | undefined> {
    const [row] = await this.#database.db.select(SHOWN).from(registryAuth).where(own(id, accountId));
    return row;
  }

  /** Returns a page of the credentials of an account without their secrets, oldest first. */
  async list(accountId: string, page: PageRequest): Promise<Page<RegistryAuth>> {
    const where = eq(registryAuth.accountId, accountId);
    const viewed = { searched: [registryAuth.name], sorts: { name: byText(registryAuth.name) } };
    const listed = {
      from: registryAuth,
      id: registryAuth.id,
      createdAt: registryAuth.createdAt,
      bytes: sql`1000`,
      where,
      ...viewed,
    };
    return readPage(this.#database, listed, page, (ids) =>
      this.#database.db.select(SHOWN).from(registryAuth).where(inArray(registryAuth.id, ids)),
    );
  }

  /**
   * Replaces the secrets, and ends the back-off of workloads that could not start with the previous ones. Returns
   * `undefined` if there are no such credentials in this account.
   */
  async update(id: string, actor: Actor, credentialsSealed: Buffer): Promise<RegistryAuthUpdate | undefined> {
    return this.#database.db.transaction(async (tx) => {
      const [auth] = await tx
        .update(registryAuth)
        .set({ credentialsSealed })
        .where(own(id, actor.accountId))
        .returning(SHOWN);
      if (!auth) return undefined;
      await recordChange(tx, {
        ...actor,
        action: 'UpdateRegistryAuth',
        subjectId: id,
        fields: ['username', 'password'],
        values: HIDDEN_CREDENTIALS,
      });
      return { auth, ...(await endPauses(tx, id)) };
    });
  }

  /**
   * Deletes credentials unless templates or pods use them; with `clearTemplates` unless pods use them. Returns
   * `undefined` if there are no such credentials in this account.
   */
  async remove(id: string, actor: Actor, clearTemplates: boolean): Promise<RegistryAuthRemoval | undefined> {
    return retryOnDeadlock(() =>
      this.#database.db.transaction(async (tx) => {
        const { accountId } = actor;
        const [current] = await tx
          .select({ id: registryAuth.id })
          .from(registryAuth)
          .where(own(id, accountId))
          .for('update');
        if (!current) return undefined;
        const templates = await tx
          .select({ id: template.id })
          .from(template)
          .where(and(eq(template.accountId, accountId), eq(template.registryAuthId, id)))
          .limit(USERS_NAMED_MAX);
        const pods = await tx
          .select({ id: pod.id })
          .from(pod)
          .where(and(eq(pod.accountId, accountId), eq(pod.registryAuthId, id)))
          .limit(USERS_NAMED_MAX);
        const hindering = clearTemplates ? [] : templates;
        if (hindering.length + pods.length > 0) {
          return {
            removed: false,
            usedBy: { templateIds: hindering.map((user) => user.id), podIds: pods.map((user) => user.id) },
          };
        }
        const endpointIds = templates.length > 0 ? await dropRegistryAuth(tx, actor, id) : [];
        await recordChange(tx, { ...actor, action: 'DeleteRegistryAuth', subjectId: id, fields: [] });
        await tx.delete(registryAuth).where(eq(registryAuth.id, id));
        return { removed: true, endpointIds };
      }),
    );
  }
}

/**
 * Ends back-offs. Crashed workers of endpoints that name the credentials may be replaced now, as a first try. Failed
 * pods begin a new run, for which their spec is read again.
 */
async function endPauses(tx: Transaction, id: string): Promise<Pick<RegistryAuthUpdate, 'endpointIds' | 'machineIds'>> {
  const workers = await tx.execute<{ endpoint_id: string }>(sql`
    UPDATE worker w SET retry_at = now(), failures = 0
    FROM (SELECT w.id FROM worker w JOIN endpoint e ON e.id = w.endpoint_id JOIN template t ON t.id = e.template_id
      WHERE t.registry_auth_id = ${id} AND t.account_id = e.account_id AND w.state = 'UNHEALTHY' AND w.retry_at > now()
      ORDER BY w.id FOR NO KEY UPDATE OF w) l
    WHERE w.id = l.id RETURNING w.endpoint_id`);
  const pods = await tx.execute<{ machine_id: string }>(sql`
    UPDATE pod p SET run = run + 1, state = 'STARTING', status_text = '', exit_code = NULL, last_started_at = now(),
      state_changed_at = now()
    FROM (SELECT id FROM pod WHERE registry_auth_id = ${id} AND desired = 'RUNNING' AND state = 'FAILED'
      ORDER BY id FOR UPDATE) l
    WHERE p.id = l.id RETURNING p.machine_id`);
  return {
    endpointIds: [...new Set(workers.map((row) => row.endpoint_id))],
    machineIds: [...new Set(pods.map((row) => row.machine_id))],
  };
}

function own(id: string, accountId: string) {
  return and(eq(registryAuth.id, id), eq(registryAuth.accountId, accountId));
}
