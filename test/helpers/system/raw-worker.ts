/**
 * Speaks the worker protocol of docs/reference/worker-protocol.md#conversation by hand, in place of the worker process
 * of test/handlers/raw-worker.js.
 */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { PATIENCE_MS, waitFor } from '../time/wait-for.ts';

/** A job in the answer to a take. */
export interface TakenJob {
  id: string;
  input: Record<string, unknown>;
  s3Config?: Record<string, string>;
}

/** Answer to a take. */
export interface Taken {
  status: number;
  jobs: TakenJob[];
}

/** Options of a take. */
export interface TakeOptions {
  /** Jobs to ask for. More than 1 makes it a batch take. Default: 1. */
  batch?: number;
  /** The worker reports that it holds a job. Default: false. */
  inProgress?: boolean;
  /** Closes the connection when aborted. */
  signal?: AbortSignal;
}

/**
 * Content type of result bodies, as real workers send it, though the body is raw JSON
 * (docs/reference/worker-protocol.md#results).
 */
const FORM = 'application/x-www-form-urlencoded';

export class RawWorker {
  readonly id: string;
  readonly pid: number;
  readonly sdk: string;
  readonly #env: Record<string, string>;

  /** `sdk` is the SDK version that the worker claims. */
  constructor(env: Record<string, string> & { pid: number }, sdk: string) {
    this.id = env.RUNPOD_POD_ID!;
    this.pid = env.pid;
    this.sdk = sdk;
    this.#env = env;
  }

  /** Returns the address of a take, as the SDK writes it. */
  takeUrl({ batch = 1, inProgress = false }: TakeOptions = {}): string {
    const url = this.#env.RUNPOD_WEBHOOK_GET_JOB!.replace('$ID', this.id);
    const kind = batch > 1 ? `${url.replace('/job-take/', '/job-take-batch/')}&batch_size=${batch}` : url;
    return `${kind}&job_in_progress=${inProgress ? 1 : 0}`;
  }

  /** Headers of every request except the ping. */
  get headers(): Record<string, string> {
    return {
      authorization: this.#env.RUNPOD_AI_API_KEY!,
      'content-type': 'application/json',
      'user-agent': `RunPod-Python-SDK/${this.sdk} (Linux 6.1; x86_64) Language/Python 3.11.7`,
    };
  }

  /** Asks for work. */
  async take(options: TakeOptions = {}): Promise<Taken> {
    const response = await fetch(this.takeUrl(options), { headers: this.headers, signal: options.signal ?? null });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    const body: unknown = isJson && response.status === 200 ? JSON.parse(text) : [];
    return { status: response.status, jobs: [body].flat() as TakenJob[] };
  }

  /** Takes until there is a job, as the SDK's loop does. */
  async takeJob(options: TakeOptions = {}): Promise<TakenJob> {
    return waitFor('a job', async () => (await this.take(options)).jobs[0], 60_000);
  }

  /** Asks which jobs to stop. Returns their ids. */
  async stopSignals(signal?: AbortSignal): Promise<string[]> {
    const url = this.#env.RUNPOD_WEBHOOK_GET_JOB!.replace('$ID', this.id).replace('/job-take/', '/job-stop/');
    const response = await fetch(url, { headers: this.headers, signal: signal ?? null });
    return response.status === 200 ? ((await response.json()) as { jobsToStop: string[] }).jobsToStop : [];
  }

  /**
   * Posts a final result or a progress value. A string `body` is sent unchanged, an object as JSON. Returns the HTTP
   * status.
   */
  done(
    jobId: string,
    body: string | object,
    contentType: string | undefined = FORM,
    isStream = false,
  ): Promise<number> {
    return this.#post('RUNPOD_WEBHOOK_POST_OUTPUT', jobId, body, contentType, isStream);
  }

  /** Posts a body of several results. Returns the HTTP status. */
  async doneBatch(body: string): Promise<number> {
    const url = this.#env
      .RUNPOD_WEBHOOK_POST_OUTPUT!.replace('/job-done/', '/job-done-batch/')
      .replace('/$ID', '')
      .replace('$RUNPOD_POD_ID', this.id);
    return (await fetch(url, { method: 'POST', headers: this.headers, body })).status;
  }

  /** Posts a chunk. Returns the HTTP status. */
  chunk(jobId: string, output: unknown): Promise<number> {
    return this.#post('RUNPOD_WEBHOOK_POST_STREAM', jobId, { output }, FORM, false);
  }

  /** Sends a ping with the jobs that the worker holds. Returns the HTTP status. */
  async ping(...held: string[]): Promise<number> {
    const url = this.#env.RUNPOD_WEBHOOK_PING!.replace('$RUNPOD_POD_ID', this.id);
    const list = held.length > 0 ? `&job_id=${held.join('%2C')}` : '';
    const { authorization } = this.headers;
    return (await fetch(`${url}${list}&runpod_version=${this.sdk}`, { headers: { authorization: authorization! } }))
      .status;
  }

  async #post(
    template: string,
    jobId: string,
    body: string | object,
    contentType: string,
    isStream: boolean,
  ): Promise<number> {
    const url = this.#env[template]!.replace('$RUNPOD_POD_ID', this.id).replace('$ID', jobId);
    const response = await fetch(`${url}&isStream=${isStream}`, {
      method: 'POST',
      headers: { ...this.headers, 'content-type': contentType, charset: 'utf-8' },
      body: new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body)),
    });
    await response.arrayBuffer();
    return response.status;
  }
}

/** Makes raw workers of one endpoint. Give `env` to its template, then call `next` for each new worker. */
export async function rawWorkers(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-raw-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const seen = new Set<string>();
  return {
    env: { RAW_WORKER_FOLDER: folder },
    /** Waits for a worker that has not been handed out yet. */
    next: (sdk = '1.12.0', timeoutMs = PATIENCE_MS): Promise<RawWorker> =>
      waitFor(
        'a raw worker',
        async () => {
          const file = (await readdir(folder)).find((name) => name.endsWith('.json') && !seen.has(name));
          if (!file) return undefined;
          seen.add(file);
          return new RawWorker(JSON.parse(await readFile(join(folder, file), 'utf8')), sdk);
        },
        timeoutMs,
      ),
  };
}
