/** Reads streamed output for many readers in one statement, and advances their shared cursors. */
import type { JobState } from '../../domain/jobs/job-state.ts';
import type { Sql } from '../sql/database.ts';
import { samePart } from '../sql/database.ts';
import { numberArray, textArray } from '../sql/pack.ts';
import { isLive } from './rows.ts';

/** A cursor in a job's chunks. */
interface ChunkPosition {
  attempt: number;
  number: number;
}

/** Request of one reader. */
export interface ChunkPageRequest {
  endpointId: string;
  jobId: string;
  /** Cursor to read from. `undefined` for the job's shared cursor, which moves to the last chunk read. */
  after: ChunkPosition | undefined;
  /** Most chunks. */
  limit: number;
}

/** Bounds of a page. */
export interface ChunkPageBounds {
  chunksMax: number;
  /** Most bytes of outputs and metrics together. */
  bytesMax: number;
  /**
   * If more than this is stored, the reader gets nothing, its cursor stays, and `leftOut` is set. Otherwise it gets
   * what fits, at least one chunk.
   */
  allOrNothing: boolean;
}

/** Page of one reader. State and chunks come from one snapshot. */
export interface ChunkRead {
  state: JobState;
  error: string | undefined;
  /** The shared cursor. */
  shared: ChunkPosition;
  /** Chunks of the current attempt only. Chunks of lost attempts are void even if they are still stored. */
  chunks: { attempt: number; number: number; output: Buffer; metrics: Buffer | undefined }[];
  more: boolean;
  leftOut: boolean;
  /** False if another reader moved the shared cursor first and received the chunks. */
  taken: boolean;
}

interface PageRow {
  reader: number;
  state: JobState;
  error: string | null;
  shared_attempt: number;
  shared_number: number;
  attempt: number | null;
  number: number | null;
  output: Buffer | null;
  metrics: Buffer | null;
  listed: number;
  fits: number;
  left_out: boolean;
  taken: boolean;
}

/** Moves shared cursors from the begin to the last chunk of a page. Creates missing rows. */
const movedCursors = samePart(
  (sql) => sql`,
  ends AS (
    SELECT endpoint_id, id, shared_attempt, shared_number, has_place, attempt, number, reader FROM pages
      WHERE is_shared AND NOT left_out AND nth = fits
  ), moved AS (
    UPDATE stream_cursor s SET attempt = e.attempt, number = e.number FROM ends e
    WHERE e.has_place AND s.endpoint_id = ANY(ARRAY[e.endpoint_id]) AND s.job_id = e.id AND s.attempt = e.shared_attempt
      AND s.number = e.shared_number
    RETURNING e.reader
  ), made AS (
    INSERT INTO stream_cursor (endpoint_id, job_id, attempt, number) SELECT endpoint_id, id, attempt, number FROM ends
      WHERE NOT has_place
    ON CONFLICT DO NOTHING RETURNING endpoint_id, job_id
  )`,
);

const hasMoved = samePart(
  (sql) => sql`
  NOT is_shared OR reader IN (SELECT reader FROM moved) OR (endpoint_id, id) IN (SELECT endpoint_id, job_id FROM made)`,
);

/**
 * Returns a page for each request, in order, `undefined` if the job does not exist. Requests must be ordered by
 * (endpointId, jobId), so that two statements never deadlock. At most one per job may read from its shared cursor.
 */
export async function readChunkPages(
  sql: Sql,
  requests: readonly ChunkPageRequest[],
  bounds: ChunkPageBounds,
): Promise<(ChunkRead | undefined)[]> {
  const { chunksMax, bytesMax, allOrNothing } = bounds;
  const shares = requests.some(({ after }) => after === undefined);
  const rows = await sql<PageRow[]>`
    WITH found AS (
      SELECT g.reader, g.wanted, g.after_attempt IS NULL AS is_shared, j.endpoint_id, j.id, j.state,
        j.attempt AS current, o.error,
        coalesce(s.attempt, 0) AS shared_attempt, coalesce(s.number, 0) AS shared_number,
        s.job_id IS NOT NULL AS has_place,
        coalesce(g.after_attempt, s.attempt, 0) AS from_attempt, coalesce(g.after_number, s.number, 0) AS from_number
      FROM unnest(
        ${numberArray(requests.map((_, index) => index))}::int[],
        ${textArray(requests.map((request) => request.endpointId))}::text[],
        ${textArray(requests.map((request) => request.jobId))}::text[],
        ${numberArray(requests.map((request) => request.after?.attempt))}::int[],
        ${numberArray(requests.map((request) => request.after?.number))}::int[],
        ${numberArray(requests.map((request) => request.limit))}::int[]
      ) AS g(reader, endpoint_id, id, after_attempt, after_number, wanted)
      JOIN job j ON j.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND j.id = g.id AND ${isLive(sql)}
      LEFT JOIN job_output o ON o.endpoint_id = ANY(ARRAY[j.endpoint_id]) AND o.job_id = j.id
      LEFT JOIN stream_cursor s ON s.endpoint_id = ANY(ARRAY[j.endpoint_id]) AND s.job_id = j.id
    ), pages AS (
      SELECT f.*, p.attempt, p.number, p.output, p.metrics, p.nth, coalesce(p.listed, 0) AS listed,
        coalesce(p.fits, 0) AS fits,
        ${allOrNothing}::boolean AND coalesce(p.fits < p.listed AND p.fits < f.wanted, false) AS left_out
      FROM found f LEFT JOIN LATERAL (
        SELECT *, sum(fit) OVER () AS fits FROM (
          SELECT *, count(*) OVER () AS listed, row_number() OVER places AS nth,
            CASE WHEN row_number() OVER places <= least(f.wanted, ${chunksMax}::int)
              AND (sum(bytes) OVER places <= ${bytesMax}::bigint
              OR row_number() OVER places = 1 AND NOT ${allOrNothing}::boolean) THEN 1 ELSE 0 END AS fit
          FROM (
            SELECT c.attempt, c.number, c.output, c.metrics, octet_length(c.output) + coalesce(octet_length(c.metrics),
              0) AS bytes FROM job_chunk c
            WHERE c.endpoint_id = f.endpoint_id AND c.job_id = f.id AND c.attempt = f.current AND f.state <> 'IN_QUEUE'
              AND (c.attempt, c.number) > (f.from_attempt, f.from_number)
            ORDER BY c.attempt, c.number LIMIT least(f.wanted, ${chunksMax}::int) + 1
          ) AS listed WINDOW places AS (ORDER BY attempt, number)
        ) AS sized
      ) AS p ON p.fit = 1 OR p.nth = 1
    )${shares ? movedCursors(sql) : sql``}
    SELECT reader, state, error, shared_attempt, shared_number, listed, fits, left_out, attempt, number,
      CASE WHEN NOT left_out THEN output END AS output, CASE WHEN NOT left_out THEN metrics END AS metrics,
      ${shares ? hasMoved(sql) : sql`true`} AS taken
    FROM pages ORDER BY reader, nth`;
  const pages = Map.groupBy(rows, (row) => row.reader);
  return requests.map((_, reader) => readFromRows(pages.get(reader)));
}

function readFromRows(rows: readonly PageRow[] | undefined): ChunkRead | undefined {
  const [first] = rows ?? [];
  if (rows === undefined || first === undefined) return undefined;
  const chunks = rows.flatMap(({ attempt, number, output, metrics }) =>
    attempt === null || number === null || output === null
      ? []
      : [{ attempt, number, output, metrics: metrics ?? undefined }],
  );
  return {
    state: first.state,
    error: first.error ?? undefined,
    shared: { attempt: first.shared_attempt, number: first.shared_number },
    chunks,
    more: first.listed > chunks.length,
    leftOut: first.left_out,
    taken: chunks.length === 0 || first.taken,
  };
}
