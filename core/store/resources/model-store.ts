/** Reads endpoints as models: their names, and what they do now. */
import { eq } from '@slipway/drizzle/orm';
import { endpoint } from '@slipway/drizzle/schema/endpoint';
import type { Sealer } from '@slipway/kit/host/seal';
import { SealError } from '@slipway/kit/host/seal';
import type { ModelCandidate, ModelLoad } from '../../domain/resources/model-selection.ts';
import { endpointEnvIdentity, templateEnvIdentity } from '../../domain/settings/sealed-identity.ts';
import type { Database } from '../sql/database.ts';
import { DEMAND_VALID_MS } from '../sql/demand-rows.ts';
import { openEnv } from '../sql/env-seals.ts';
import { textArray } from '../sql/pack.ts';

/** An endpoint without the names that only its environment has. */
export type ModelEndpoint = Omit<ModelCandidate, 'workerModels'>;

interface EnvRow {
  id: string;
  templateId: string;
  templateEnv: Record<string, string>;
  templateEnvSealed: Buffer | null;
  env: Record<string, string>;
  envSealed: Buffer | null;
}

export class ModelStore {
  readonly #database: Database;
  readonly #sealer: Sealer;

  constructor(database: Database, sealer: Sealer) {
    this.#database = database;
    this.#sealer = sealer;
  }

  /** Returns the endpoints of an account, oldest first, at most `max`. */
  async named(accountId: string, max: number): Promise<ModelEndpoint[]> {
    const rows = await this.#database.db
      .select({
        id: endpoint.id,
        name: endpoint.name,
        type: endpoint.type,
        workersMax: endpoint.workersMax,
        version: endpoint.version,
        modelAliases: endpoint.modelAliases,
        modelWeight: endpoint.modelWeight,
        modelQueueMax: endpoint.modelQueueMax,
        createdAt: endpoint.createdAt,
      })
      .from(endpoint)
      .where(eq(endpoint.accountId, accountId))
      .orderBy(endpoint.createdAt, endpoint.id)
      .limit(max);
    return rows.map((row) => ({ ...row, type: row.type as ModelEndpoint['type'] }));
  }

  /**
   * Returns the environments of the workers of these endpoints, by id. An environment that cannot be decrypted is left
   * out.
   */
  async environments(ids: readonly string[]): Promise<Map<string, Record<string, string>>> {
    const rows = await this.#database.sql<EnvRow[]>`
      SELECT e.id, t.id AS "templateId", e.env, e.env_sealed AS "envSealed",
        CASE WHEN g.endpoint_id IS NULL THEN t.env ELSE g.env END AS "templateEnv",
        CASE WHEN g.endpoint_id IS NULL THEN t.env_sealed ELSE g.env_sealed END AS "templateEnvSealed"
      FROM endpoint e JOIN template t ON t.id = e.template_id LEFT JOIN given_template g ON g.endpoint_id = e.id
      WHERE e.id = ANY(${textArray(ids)}::text[])`;
    return new Map(rows.flatMap((row) => this.#opened(row)));
  }

  /** Returns what endpoints do now, by id. Deleted ones are left out. */
  async loads(ids: readonly string[]): Promise<Map<string, ModelLoad>> {
    const rows = await this.#database.sql<(ModelLoad & { id: string })[]>`
      SELECT e.id, w.ready, w.starting, coalesce(d.throttled, 0) AS throttled,
        (SELECT greatest(coalesce(sum(t.queued), 0), 0)::bigint FROM endpoint_tally t WHERE t.endpoint_id = e.id)
          + (SELECT coalesce(sum(o.waiting), 0)::bigint FROM endpoint_demand o WHERE o.endpoint_id = e.id
              AND o.reported_at > now() - ${DEMAND_VALID_MS}::int * interval '1 ms') AS waiting
      FROM endpoint e LEFT JOIN scale_decision d ON d.endpoint_id = e.id
        CROSS JOIN LATERAL (
          SELECT (count(*) FILTER (WHERE s.up))::int AS ready, (count(*) FILTER (WHERE NOT s.up))::int AS starting
          FROM (
            SELECT w.state = 'READY' AND (e.type = 'QB' OR w.health = 'READY') AS up FROM worker w
            WHERE w.endpoint_id = e.id AND w.ended_at IS NULL AND w.endpoint_id <> '' AND w.desired = 'RUN'
              AND w.state IN ('INITIALIZING', 'READY')
          ) s
        ) w
      WHERE e.id = ANY(${textArray(ids)}::text[])`;
    return new Map(rows.map(({ id, ...load }) => [id, load]));
  }

  #opened(row: EnvRow): [string, Record<string, string>][] {
    const template = { env: row.templateEnv, envSealed: row.templateEnvSealed };
    try {
      const env = {
        ...openEnv(this.#sealer, template, templateEnvIdentity(row.templateId)),
        ...openEnv(this.#sealer, row, endpointEnvIdentity(row.id)),
      };
      return [[row.id, env]];
    } catch (error) {
      if (error instanceof SealError) return [];
      throw error;
    }
  }
}
