/** Uses one endpoint's jobs through the public API. */

import { PATIENCE_MS, waitFor } from '../time/wait-for.ts';
import type { Answer, PublicJson, System } from './system.ts';

const FINAL = ['COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT'];

/** Answer of GET /health. */
export interface HealthRecord {
  jobs: Record<'completed' | 'failed' | 'inProgress' | 'inQueue' | 'retried', number>;
  workers: Record<'idle' | 'running' | 'initializing' | 'ready' | 'throttled' | 'unhealthy', number> & {
    throttledReason?: string;
    cannotRunReason?: string;
  };
}

/** Answer of /stream to SDKs. */
export interface StreamRecord {
  status: string;
  stream: { output: unknown; metrics?: unknown }[];
}

export type EndpointJobs = ReturnType<typeof endpointJobs>;

/** Calls of one endpoint. They throw when the answer is not the expected one. */
export function endpointJobs(system: Pick<System, 'request'>, endpointId: string) {
  const base = `/v2/${endpointId}`;

  /** Submits with POST /run and returns the id. `more` are further top-level fields. */
  const run = async (
    input: unknown,
    more: Record<string, unknown> = {},
    headers: Record<string, string> = {},
  ): Promise<string> => {
    const answer = await system.request('POST', `${base}/run`, { input, ...more }, headers);
    if (answer.status !== 200) throw new Error(`POST /run answered ${answer.status} ${answer.text}`);
    return answer.json.id;
  };

  const status = (id: string): Promise<Answer> => system.request('GET', `${base}/status/${id}`);

  /** Waits until the job has this status and returns its record. */
  const reached = (id: string, wanted: string, timeoutMs = PATIENCE_MS) =>
    waitFor(
      `job ${id} to be ${wanted}`,
      async () => {
        const answer = await status(id);
        if (answer.json?.status === wanted) return answer.json;
        if (answer.status !== 200 || FINAL.includes(answer.json.status))
          throw new Error(`it is ${answer.status} ${answer.text}`);
        return undefined;
      },
      timeoutMs,
    );

  /** Waits until status calls answer 404. */
  const gone = (id: string): Promise<boolean> =>
    waitFor(`job ${id} to be gone`, async () => (await status(id)).status === 404);

  /** Counts of GET /health. */
  const health = async (): Promise<HealthRecord> => {
    const answer = await system.request('GET', `${base}/health`);
    if (answer.status !== 200) throw new Error(`GET /health answered ${answer.status} ${answer.text}`);
    return answer.json as unknown as HealthRecord;
  };

  /** Waits until GET /health shows these job counts, which may lag for a moment. */
  const counted = (wanted: Partial<HealthRecord['jobs']>) =>
    waitFor(`jobs to be ${JSON.stringify(wanted)}`, async () => {
      const seen = await health();
      const wrong = Object.entries(wanted).some(([name, count]) => seen.jobs[name as keyof typeof seen.jobs] !== count);
      if (wrong) throw new Error(`they are ${JSON.stringify(seen.jobs)}`);
      return seen;
    });

  const call = (method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer> =>
    system.request(method, `${base}${path}`, body, headers);

  /** Sends a request. Throws unless the status is 200. */
  const ask = async (
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<PublicJson> => {
    const answer = await call(method, path, body, headers);
    if (answer.status !== 200)
      throw new Error(`${method} ${path} answered ${answer.status} ${answer.text.slice(0, 500)}`);
    return answer.json;
  };

  /** Returns the job's record. */
  const look = (id: string): Promise<PublicJson> => ask('GET', `/status/${id}`);

  /** Waits until the job's record is as wanted. Returns it. */
  const when = (
    id: string,
    what: string,
    wanted: (job: PublicJson) => boolean,
    timeoutMs = PATIENCE_MS,
  ): Promise<PublicJson> =>
    waitFor(
      `job ${id} to be ${what}`,
      async () => {
        const job = await look(id);
        if (!wanted(job)) throw new Error(`it is ${JSON.stringify(job).slice(0, 500)}`);
        return job;
      },
      timeoutMs,
    );

  /** Waits until the job is final, in any state. */
  const settled = async (id: string, timeoutMs = PATIENCE_MS): Promise<PublicJson> => {
    const job = await ask('GET', `/status-sync/${id}?wait=${timeoutMs}`);
    if (!FINAL.includes(job.status))
      throw new Error(`job ${id} did not end within ${timeoutMs} ms: ${JSON.stringify(job).slice(0, 500)}`);
    return job;
  };

  /** Submits with POST /runsync. */
  const runSync = (input: unknown, more: Record<string, unknown> = {}, waitMs = 60_000): Promise<PublicJson> =>
    ask('POST', `/runsync?wait=${waitMs}`, { input, ...more });

  const cancel = (id: string): Promise<PublicJson> => ask('POST', `/cancel/${id}`);

  /** Polls the stream once, in the form that SDKs get. */
  const stream = async (id: string): Promise<StreamRecord> =>
    (await ask('GET', `/stream/${id}`, undefined, { 'content-type': 'application/json' })) as unknown as StreamRecord;

  /** Returns all that the job streams from here to its end. */
  const drain = async (id: string): Promise<{ outputs: unknown[]; status: string }> => {
    const outputs: unknown[] = [];
    for (;;) {
      const part = await stream(id);
      outputs.push(...part.stream.map((chunk) => chunk.output));
      if (FINAL.includes(part.status) && part.stream.length === 0) return { outputs, status: part.status };
    }
  };

  return {
    id: endpointId,
    base,
    run,
    runSync,
    status,
    look,
    reached,
    when,
    settled,
    gone,
    cancel,
    health,
    counted,
    stream,
    drain,
    call,
  };
}
