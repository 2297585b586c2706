/** Reads which machines have the models of endpoints, for placement. */
import { referenceOf } from '../../domain/machines/model-reference.ts';
import type { PlacementMachine, PlacementRequest } from '../../domain/scaling/placement-machine.ts';
import type { Sql } from '../sql/database.ts';

/** A version of an endpoint with its models. */
interface ModelVersion extends Pick<PlacementRequest, 'modelReferences'> {
  id: string;
  version: number;
}

type Progress = NonNullable<PlacementMachine['models']>;

/** Progress by machine, for each endpoint. Machines that lack a model and do not download it are left out. */
export type ModelProgress = ReadonlyMap<string, ReadonlyMap<string, Progress>>;

/**
 * Returns the machines that have or download all models of an endpoint: of the resolved commits, and only models that
 * the endpoint's account may use.
 */
export async function readModelProgress(sql: Sql, endpoints: readonly ModelVersion[]): Promise<ModelProgress> {
  const asked = endpoints.flatMap(({ id, version, modelReferences = [] }) =>
    modelReferences.map((text) => ({ id, version, total: modelReferences.length, ...referenceOf(text) })),
  );
  if (asked.length === 0) return new Map();
  const rows = await sql<{ endpointId: string; machineId: string; progress: Progress }[]>`
    SELECT id AS "endpointId", machine_id AS "machineId",
      CASE WHEN bool_and(is_ready) THEN 'READY' ELSE 'DOWNLOADING' END AS progress
    FROM (
      SELECT q.id, q.total, m.machine_id, q.repository, q.revision, bool_or(m.state = 'READY') AS is_ready
      FROM unnest(${asked.map(({ id }) => id)}::text[], ${asked.map(({ version }) => version)}::int[],
        ${asked.map(({ total }) => total)}::int[], ${asked.map(({ repository }) => repository)}::text[],
        ${asked.map(({ revision }) => revision)}::text[]) AS q (id, version, total, repository, revision)
      JOIN endpoint e ON e.id = q.id JOIN account a ON a.id = e.account_id
      LEFT JOIN endpoint_model s ON s.endpoint_id = q.id AND s.version = q.version AND s.repository = q.repository
        AND s.revision = q.revision
      JOIN machine_model m ON m.repository = q.repository AND m.account_number IN (0, a.number) AND m.state <> 'FAILED'
        AND CASE WHEN s.commit IS NULL THEN m.revision = q.revision ELSE m.commit = s.commit END
      GROUP BY q.id, q.total, m.machine_id, q.repository, q.revision) AS p
    GROUP BY id, total, machine_id HAVING count(*) = total`;
  const progress = new Map<string, Map<string, Progress>>();
  for (const row of rows) {
    const machines = progress.get(row.endpointId) ?? new Map<string, Progress>();
    progress.set(row.endpointId, machines.set(row.machineId, row.progress));
  }
  return progress;
}

/** Returns the machines with the progress of an endpoint's models. */
export function withModelProgress(
  machines: readonly PlacementMachine[],
  progress: ReadonlyMap<string, Progress> | undefined,
): PlacementMachine[] {
  if (!progress) return [...machines];
  return machines.map((machine) => {
    const models = progress.get(machine.id);
    return models ? { ...machine, models } : machine;
  });
}
