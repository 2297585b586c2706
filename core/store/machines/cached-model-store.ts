/** Stores the models of machines, and the commits that the revisions of endpoints' models mean. */

import type { MachineModels } from '../../domain/machines/cached-model.ts';
import type { ModelReference } from '../../domain/machines/model-reference.ts';
import { referenceText } from '../../domain/machines/model-reference.ts';
import type { EndpointModel } from '../../domain/reports/model-explanation.ts';
import type { Database } from '../sql/database.ts';
import { inTransaction } from '../sql/database.ts';
import { endpointModels, modelColumns } from '../sql/model-rows.ts';
import type { MachineSession } from './machine-store.ts';

/** A worker's model, as its machine asks for the commit. */
interface ModelClaim extends ModelReference {
  machineId: string;
  endpointId: string;
  version: number;
  /** Commit that the revision means to the machine. Empty: not known there. */
  commit: string;
}

/** A machine that has a model. */
interface ModelHolder {
  machineId: string;
  address: string;
  /** The account that the copy is for. 0: all. */
  accountNumber: number;
}

/** Most source machines that are named to a machine that needs a model. */
const HOLDERS_MAX = 4;
/** Most models in a list of all machines. */
const LISTED_MAX = 1_000;

export class CachedModelStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Stores what a machine reported about models, unless a later session owns the machine. */
  async report({ machineId, sessionId }: MachineSession, reported: MachineModels): Promise<void> {
    const { models, limitBytes, usedBytes, peerAddress } = reported;
    await inTransaction(this.#database.sql, async (sql) => {
      const [own] = await sql`
        UPDATE machine SET model_limit_bytes = ${limitBytes}, model_used_bytes = ${usedBytes},
          model_peer_address = ${peerAddress}
        WHERE id = ${machineId} AND coalesce(session_id, ${sessionId}) = ${sessionId} RETURNING id`;
      if (!own) return;
      await sql`
        DELETE FROM machine_model m WHERE machine_id = ${machineId} AND NOT EXISTS (
          SELECT FROM unnest(${models.map(({ accountNumber }) => accountNumber)}::int[],
            ${models.map(({ repository }) => repository)}::text[], ${models.map(({ revision }) => revision)}::text[])
            AS r (account_number, repository, revision)
          WHERE r.account_number = m.account_number AND r.repository = m.repository AND r.revision = m.revision)`;
      await sql`
        INSERT INTO machine_model AS m (machine_id, account_number, repository, revision, commit, state, size_bytes,
          downloaded_bytes, fault, error)
        SELECT ${machineId}, r.* FROM unnest(${models.map(({ accountNumber }) => accountNumber)}::int[],
          ${models.map(({ repository }) => repository)}::text[], ${models.map(({ revision }) => revision)}::text[],
          ${models.map(({ commit }) => commit)}::text[], ${models.map(({ state }) => state)}::text[],
          ${models.map(({ sizeBytes }) => sizeBytes)}::bigint[],
          ${models.map(({ downloadedBytes }) => downloadedBytes)}::bigint[],
          ${models.map(({ fault }) => fault)}::text[], ${models.map(({ error }) => error)}::text[]) AS r
        ON CONFLICT (machine_id, account_number, repository, revision) DO UPDATE
          SET (commit, state, size_bytes, downloaded_bytes, fault, error) = (excluded.commit, excluded.state,
            excluded.size_bytes, excluded.downloaded_bytes, excluded.fault, excluded.error)
        WHERE (m.commit, m.state, m.size_bytes, m.downloaded_bytes, m.fault, m.error) IS DISTINCT FROM
          (excluded.commit, excluded.state, excluded.size_bytes, excluded.downloaded_bytes, excluded.fault,
            excluded.error)`;
    });
  }

  /**
   * Resolves the commit of a model for a version of an endpoint. The first report wins. If the machine does not know
   * it, that of a machine that has the model is taken; empty if there is none. Returns `undefined` if the machine has
   * no worker of that version, or the version has no such model.
   */
  async resolve(claim: ModelClaim): Promise<string | undefined> {
    const { machineId, endpointId, version, repository, revision, commit } = claim;
    const { sql } = this.#database;
    const [row] = await sql<{ accountNumber: number; commit: string }[]>`
      SELECT a.number AS "accountNumber", coalesce(s.commit, '') AS commit
      FROM endpoint e JOIN account a ON a.id = e.account_id
        LEFT JOIN endpoint_version k ON k.endpoint_id = e.id AND k.version = ${version}::int AND k.version <> e.version
        LEFT JOIN endpoint_model s ON s.endpoint_id = e.id AND s.version = ${version}::int
          AND s.repository = ${repository} AND s.revision = ${revision}
      WHERE e.id = ${endpointId}
        AND ${referenceText(claim)}::text = ANY(coalesce(k.model_references, e.model_references))
        AND EXISTS (SELECT FROM worker w WHERE w.endpoint_id = e.id AND w.machine_id = ${machineId}
          AND w.version = ${version}::int AND w.ended_at IS NULL AND w.endpoint_id <> '')`;
    if (!row) return undefined;
    if (row.commit !== '') return row.commit;
    const found = commit === '' ? await this.#commitElsewhere(claim, row.accountNumber) : commit;
    return found === '' ? '' : this.#settle({ ...claim, commit: found });
  }

  async #settle({ endpointId, version, repository, revision, commit }: ModelClaim): Promise<string | undefined> {
    const { sql } = this.#database;
    const [row] = await sql<{ commit: string }[]>`
      INSERT INTO endpoint_model AS s (endpoint_id, version, repository, revision, commit)
      SELECT ${endpointId}, ${version}::int, ${repository}, ${revision}, ${commit}
      WHERE EXISTS (SELECT FROM endpoint WHERE id = ${endpointId})
      ON CONFLICT (endpoint_id, version, repository, revision) DO UPDATE SET commit = s.commit RETURNING commit`;
    // Delete earlier versions that nothing runs any more: their commits are not needed again.
    if (row?.commit === commit)
      await sql`DELETE FROM endpoint_model WHERE endpoint_id = ${endpointId}
        AND version < (SELECT min(version) FROM worker WHERE endpoint_id = ${endpointId} AND ended_at IS NULL
          AND endpoint_id <> '')
        AND version NOT IN (SELECT version FROM endpoint_version WHERE endpoint_id = ${endpointId})`;
    return row?.commit;
  }

  /** Returns the commit of most machines that have the revision. Empty: none has it. */
  async #commitElsewhere({ repository, revision }: ModelReference, accountNumber: number): Promise<string> {
    const [row] = await this.#database.sql<{ commit: string }[]>`
      SELECT m.commit FROM machine_model m JOIN machine n ON n.id = m.machine_id
      WHERE m.repository = ${repository} AND m.revision = ${revision} AND m.state = 'READY' AND m.commit <> ''
        AND m.account_number IN (0, ${accountNumber}) AND n.session_id IS NOT NULL AND n.lease_expires_at > now()
      GROUP BY m.commit ORDER BY count(*) DESC, m.commit LIMIT 1`;
    return row?.commit ?? '';
  }

  /**
   * Returns machines from which another can copy a commit for workers of an endpoint: those of the same location first,
   * and of those any.
   */
  async holders(
    { machineId, endpointId, repository }: Omit<ModelClaim, 'commit'>,
    commit: string,
  ): Promise<ModelHolder[]> {
    return this.#database.sql<ModelHolder[]>`
      SELECT "machineId", address, "accountNumber" FROM (
        SELECT DISTINCT ON (n.id) n.id AS "machineId", n.model_peer_address AS address,
          m.account_number AS "accountNumber", NOT coalesce(n.locations && own.locations, false) AS is_far
        FROM machine_model m JOIN machine n ON n.id = m.machine_id
          JOIN endpoint e ON e.id = ${endpointId} JOIN account a ON a.id = e.account_id
          LEFT JOIN machine own ON own.id = ${machineId}
        WHERE m.repository = ${repository} AND m.commit = ${commit} AND m.state = 'READY'
          AND m.account_number IN (0, a.number) AND n.id <> ${machineId} AND n.model_peer_address <> ''
          AND n.session_id IS NOT NULL AND n.lease_expires_at > now()
        ORDER BY n.id, m.account_number) AS holder
      ORDER BY is_far, random() LIMIT ${HOLDERS_MAX}`;
  }

  /** Returns the models of a machine, or with an empty id of all, by name. `repository`: of this one. Empty: of all. */
  async list(machineId: string, repository = ''): Promise<EndpointModel[]> {
    const { sql } = this.#database;
    return sql<EndpointModel[]>`
      SELECT ${modelColumns(sql)} FROM machine_model m JOIN machine n ON n.id = m.machine_id
      WHERE (${machineId} = '' OR n.id = ${machineId}) AND (${repository} = '' OR m.repository = ${repository})
      ORDER BY m.repository, m.revision, n.name, n.id, m.account_number LIMIT ${LISTED_MAX}`;
  }

  /** Returns the space of a machine's models, and where others copy them. */
  async diskOf(machineId: string): Promise<Omit<MachineModels, 'models'>> {
    const [row] = await this.#database.sql<Omit<MachineModels, 'models'>[]>`
      SELECT model_limit_bytes AS "limitBytes", model_used_bytes AS "usedBytes", model_peer_address AS "peerAddress"
      FROM machine WHERE id = ${machineId}`;
    return row ?? { limitBytes: 0, usedBytes: 0, peerAddress: '' };
  }

  /** Returns the models of an endpoint on connected machines. */
  async ofEndpoint(endpointId: string): Promise<EndpointModel[]> {
    const { sql } = this.#database;
    return sql<EndpointModel[]>`SELECT ${modelColumns(sql)} ${endpointModels(sql)} WHERE e.id = ${endpointId}
      ORDER BY n.name, n.id, m.account_number LIMIT ${LISTED_MAX}`;
  }
}
