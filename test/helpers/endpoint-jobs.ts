/** Short ways to use one endpoint's jobs through the public API. */
import { waitFor } from './wait-for.ts';
import type { Answer, System } from './system.ts';

const FINAL = ['COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT'];

export type EndpointJobs = ReturnType<typeof endpointJobs>;

/** All calls of one endpoint; they throw when an answer is not what the name promises. */
export function endpointJobs(system: System, endpointId: string) {
  const base = `/v2/${endpointId}`;

  /** Submits with POST /run and returns the id. `more` are further top-level fields. */
  const run = async (input: unknown, more: Record<string, unknown> = {}, headers: Record<string, string> = {}): Promise<string> => {
    const answer = await system.request('POST', `${base}/run`, { input, ...more }, headers);
    if (answer.status !== 200) throw new Error(`POST /run answered ${answer.status} ${answer.text}`);
    return answer.json.id;
  };

  const status = (id: string): Promise<Answer> => system.request('GET', `${base}/status/${id}`);

  /** Waits until the job has this status and returns its record. */
  const reached = (id: string, wanted: string, timeoutMs = 10_000): Promise<Answer['json']> => waitFor(`job ${id} to be ${wanted}`, async () => {
    const answer = await status(id);
    if (answer.json?.status === wanted) return answer.json;
    if (answer.status !== 200 || FINAL.includes(answer.json.status)) throw new Error(`it is ${answer.status} ${answer.text}`);
    return undefined;
  }, timeoutMs);

  /** Waits until status calls answer 404. */
  const gone = (id: string): Promise<boolean> => waitFor(`job ${id} to be gone`, async () => (await status(id)).status === 404);

  /** Counts of GET /health. */
  const health = async (): Promise<{ jobs: Record<string, number>; workers: Record<string, number> }> => {
    const answer = await system.request('GET', `${base}/health`);
    if (answer.status !== 200) throw new Error(`GET /health answered ${answer.status} ${answer.text}`);
    return answer.json as never;
  };

  const call = (method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer> =>
    system.request(method, `${base}${path}`, body, headers);

  return { id: endpointId, base, run, status, reached, gone, health, call };
}
