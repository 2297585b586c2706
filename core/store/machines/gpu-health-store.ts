/** Stores the health of GPUs: what the operator decided, its history, and the end of workers on a failed GPU. */
import type { GpuMarkRow, GpuRow } from '@slipway/drizzle/schema/machine';
import type { GpuEvent } from '../../domain/machines/gpu-health.ts';
import { levelOf, markAfter, seenHealth } from '../../domain/machines/gpu-health.ts';
import { recordChange } from '../accounts/audit-rows.ts';
import { lockPlacement } from '../scaling/standby-rows.ts';
import type { Database, Statement } from '../sql/database.ts';
import { statementOf } from '../sql/database.ts';
import type { MachineSession } from './machine-store.ts';

/** Changes that are kept of a GPU, and read of a machine. */
const KEPT_EVENTS = 50;
const READ_EVENTS = 100;

export class GpuHealthStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns reported GPUs as placement sees them: with their operator's decisions. */
  async seen(machineId: string, gpus: readonly GpuRow[]): Promise<GpuRow[]> {
    const marks = await this.#marks(machineId);
    return gpus.map((gpu) => asSeen(gpu, marks[gpu.uuid]));
  }

  /**
   * Records changes of the health of a machine's GPUs, and drains workers on failed ones, while the session owns the
   * machine. Returns the endpoints of these workers. `reported`: GPUs as `seen` returned them.
   */
  async record({ machineId, sessionId }: MachineSession, reported: readonly GpuRow[]): Promise<string[]> {
    if (reported.length === 0) return [];
    return this.#database.db.transaction(async (tx) => {
      const statement = statementOf(tx);
      // First the placement lock, as everywhere: a drain of workers needs it.
      if (reported.some(isFailed)) await lockPlacement(statement);
      const [row] = await statement<{ gpus: GpuRow[]; marks: Record<string, GpuMarkRow> }[]>`
        SELECT gpus, gpu_marks AS marks FROM machine WHERE id = ${machineId} AND session_id = ${sessionId} FOR UPDATE`;
      if (!row) return [];
      // The operator may have decided since the GPUs were read.
      const gpus = row.gpus.map((gpu) => asSeen(gpu, row.marks[gpu.uuid]));
      const stored = JSON.stringify(gpus);
      await statement`
        UPDATE machine SET gpus = ${stored}::text::jsonb WHERE id = ${machineId} AND gpus <> ${stored}::text::jsonb`;
      await recordEvents(statement, machineId, gpus);
      const failed = gpus.filter(isFailed).map(({ uuid }) => uuid);
      return failed.length === 0 ? [] : drainWorkers(statement, machineId, failed);
    });
  }

  /** Returns the changes of a machine, the latest first. */
  async events(machineId: string): Promise<GpuEvent[]> {
    return this.#database.sql<GpuEvent[]>`
      SELECT gpu_uuid AS "gpuUuid", level, text, (extract(epoch FROM at) * 1000)::bigint AS "atMs"
      FROM machine_gpu_event WHERE machine_id = ${machineId} ORDER BY id DESC LIMIT ${READ_EVENTS}`;
  }

  /**
   * Cordons a GPU, or puts it back, also after an event of the kernel log. Returns false if the machine has no such
   * GPU.
   */
  async cordon(machineId: string, uuid: string, cordoned: boolean, keyId: string): Promise<boolean> {
    return this.#database.db.transaction(async (tx) => {
      const statement = statementOf(tx);
      const [row] = await statement<{ gpus: GpuRow[]; marks: Record<string, GpuMarkRow> }[]>`
        SELECT gpus, gpu_marks AS marks FROM machine WHERE id = ${machineId} FOR UPDATE`;
      const gpu = row?.gpus.find((each) => each.uuid === uuid);
      if (!row || !gpu) return false;
      const mark = markAfter(cordoned, row.marks[uuid], gpu.reported?.faultMark ?? '');
      const { [uuid]: before, ...others } = row.marks;
      const marks = mark ? { ...others, [uuid]: mark } : others;
      const gpus = row.gpus.map((each) => (each.uuid === uuid ? asSeen(each, mark) : each));
      await statement`
        UPDATE machine SET gpus = ${JSON.stringify(gpus)}::text::jsonb,
          gpu_marks = ${JSON.stringify(marks)}::text::jsonb WHERE id = ${machineId}`;
      await recordEvents(statement, machineId, gpus);
      const values = { gpu: { old: null, new: uuid }, cordoned: { old: before?.cordoned === true, new: cordoned } };
      const action = cordoned ? 'CordonMachine' : 'UncordonMachine';
      await recordChange(tx, { accountId: '', keyId, action, subjectId: machineId, fields: ['gpu_uuid'], values });
      return true;
    });
  }

  async #marks(machineId: string): Promise<Record<string, GpuMarkRow>> {
    const [row] = await this.#database.sql<{ marks: Record<string, GpuMarkRow> }[]>`
      SELECT gpu_marks AS marks FROM machine WHERE id = ${machineId}`;
    return row?.marks ?? {};
  }
}

function isFailed(gpu: GpuRow): boolean {
  return levelOf(gpu).level === 'FAILED';
}

function asSeen(gpu: GpuRow, mark: GpuMarkRow | undefined): GpuRow {
  const { unhealthy: _, warning: __, cordoned: ___, reported, ...facts } = gpu;
  return { ...facts, ...seenHealth(reported ?? { fault: '', warning: '', faultMark: '' }, mark) };
}

/** Adds a row for each GPU whose health differs from its latest row, and deletes the oldest rows. */
async function recordEvents(statement: Statement, machineId: string, gpus: readonly GpuRow[]): Promise<void> {
  const levels = gpus.map((gpu) => ({ uuid: gpu.uuid, ...levelOf(gpu) }));
  const changed = await statement<{ uuid: string }[]>`
    INSERT INTO machine_gpu_event (machine_id, gpu_uuid, level, text)
    SELECT ${machineId}, g.uuid, g.level, g.text
    FROM jsonb_to_recordset(${JSON.stringify(levels)}::text::jsonb) AS g (uuid text, level text, text text)
    LEFT JOIN LATERAL (SELECT e.level, e.text FROM machine_gpu_event e
      WHERE e.machine_id = ${machineId} AND e.gpu_uuid = g.uuid ORDER BY e.id DESC LIMIT 1) AS last ON true
    WHERE (coalesce(last.level, 'OK'), coalesce(last.text, '')) <> (g.level, g.text)
    RETURNING gpu_uuid AS uuid`;
  if (changed.length === 0) return;
  const uuids = changed.map(({ uuid }) => uuid);
  await statement`
    DELETE FROM machine_gpu_event WHERE id IN (
      SELECT id FROM (
        SELECT id, row_number() OVER (PARTITION BY gpu_uuid ORDER BY id DESC) AS age FROM machine_gpu_event
        WHERE machine_id = ${machineId}
          AND gpu_uuid IN (SELECT jsonb_array_elements_text(${JSON.stringify(uuids)}::text::jsonb))) AS aged
      WHERE age > ${KEPT_EVENTS})`;
}

async function drainWorkers(statement: Statement, machineId: string, failed: readonly string[]): Promise<string[]> {
  await lockPlacement(statement);
  const workers = await statement<{ endpoint_id: string }[]>`
    UPDATE worker w SET desired = 'DRAIN', desired_at = now()
    FROM (
      SELECT id FROM worker
      WHERE machine_id = ${machineId} AND ended_at IS NULL AND machine_id <> '' AND desired IN ('RUN', 'FREEZE')
        AND gpu_uuids && ARRAY(SELECT jsonb_array_elements_text(${JSON.stringify(failed)}::text::jsonb))
      ORDER BY id FOR NO KEY UPDATE
    ) AS l
    WHERE w.id = l.id RETURNING w.endpoint_id`;
  return [...new Set(workers.map((worker) => worker.endpoint_id))];
}
