/**
 * Composes the answer to a job-take from raw bytes, in pieces: the caller's input is never parsed, encoded again or
 * copied (docs/reference/worker-protocol.md#job).
 */
import type { S3Config } from '@slipway/proto/gen/slipway/v1/job';
import type { JobParts } from '../attempts/worker-polls.ts';

const OPEN = Buffer.from('[');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from(']');

/** Returns one job as JSON text: `{"id":…,"input":…,"s3Config":…,"batchId":…}`. */
export function composeJob(job: JobParts): Uint8Array[] {
  return jobPieces(job);
}

/** Returns several jobs as a JSON array. `withTraces`: each with its trace context, if it has one. */
export function composeJobs(jobs: readonly JobParts[], withTraces = false): Uint8Array[] {
  return [...jobs.flatMap((job, index) => [index === 0 ? OPEN : COMMA, ...jobPieces(job, withTraces)]), CLOSE];
}

function jobPieces(job: JobParts, withTrace = false): Uint8Array[] {
  const head = Buffer.from(`{"id":${JSON.stringify(job.id)},"input":`);
  const s3Config = job.s3Config ? `,"s3Config":${JSON.stringify(publicS3Config(job.s3Config))}` : '';
  const trace = withTrace && job.traceparent !== undefined ? `,"traceparent":${JSON.stringify(job.traceparent)}` : '';
  const batch = job.batchId === undefined ? '' : `,"batchId":${JSON.stringify(job.batchId)}`;
  const tail = Buffer.from(`${s3Config}${batch}${trace}}`);
  return [head, ...job.input, tail];
}

// The names of docs/reference/api.md#s3-settings. Settings that the caller left out stay out.
function publicS3Config(config: S3Config): Record<string, string> {
  const named = {
    accessId: config.accessId,
    accessSecret: config.accessSecret,
    bucketName: config.bucketName,
    endpointUrl: config.endpointUrl,
    objectPath: config.objectPath,
  };
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== ''));
}

/**
 * Returns headers with the jobs' trace contexts; `undefined` if none is recorded. They are not in the jobs, because
 * handlers see everything in a job.
 */
export function traceHeaders(jobs: readonly JobParts[]): Record<string, string> | undefined {
  const traced = jobs.filter(({ traceparent }) => traceparent !== undefined);
  if (traced.length === 0) return undefined;
  const single: Record<string, string> = jobs.length === 1 ? { traceparent: traced[0]!.traceparent! } : {};
  return { ...single, 'slipway-traceparents': traced.map(({ id, traceparent }) => `${id}=${traceparent}`).join(',') };
}
