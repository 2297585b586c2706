/** Worker side of the worker protocol: asks for jobs, waits for stops, posts results. */
import { AgentCalls } from './agent-calls.ts';
import { AgentLink } from './agent-link.ts';
import type { WorkerConfig } from './config.ts';
import { FrameKind, LINK_BODY_BYTES_MAX } from './frames.ts';
import { SDK_VERSION } from './job.ts';
import { ResultSender } from './result-sender.ts';

/** Most tries to post a result. Posting is idempotent. */
const POSTS_MAX = 5;
const PAUSE_MS = 200;
/** Longer than any poll is held. */
const POLL_TIMEOUT_MS = 90_000;

export class BridgeClient {
  readonly #config: WorkerConfig;
  // Separate clients, so that results never wait behind held polls.
  readonly #polls: AgentCalls;
  readonly #posts: AgentCalls;
  readonly #headers: Record<string, string>;
  readonly #results: ResultSender;
  #link: AgentLink | undefined;
  #knowsLinks = true;

  constructor(config: WorkerConfig) {
    this.#config = config;
    this.#results = new ResultSender({
      single: (jobId, body, isStream) => this.#single(jobId, body, isStream),
      batch: async (body) =>
        (await this.#post(config.doneUrl.replace('/job-done/', '/job-done-batch/').replace('/$ID', ''), body)) < 400,
    });
    this.#headers = { authorization: config.key, 'user-agent': `Slipway-Worker/${SDK_VERSION}` };
    this.#polls = new AgentCalls(this.#headers, { connections: 4, silenceMs: POLL_TIMEOUT_MS });
    this.#posts = new AgentCalls(this.#headers, { connections: 16, silenceMs: 0 });
  }

  /** Asks for up to `count` jobs. The call is held until there is a job or the platform has none for now. */
  async take(count: number, concurrency: number, holdsJobs: boolean): Promise<Record<string, unknown>[]> {
    const link = await this.#linked();
    if (link) {
      const { empty, body } = await link.ask(FrameKind.TAKE, `${count} ${concurrency} ${holdsJobs ? 1 : 0}`);
      return empty ? [] : (JSON.parse(body.toString()) as Record<string, unknown>[]);
    }
    const url = this.#config.takeUrl.replace('/job-take/', '/job-take-batch/');
    const traces = new Map<string, string>();
    const query = `&batch_size=${count}&concurrency=${concurrency}&job_in_progress=${holdsJobs ? 1 : 0}`;
    const found = await this.#get(`${url}${query}`, (header) => {
      for (const [id, traceparent] of header.split(',').map((pair) => pair.split('=')))
        if (traceparent !== undefined) traces.set(id!, traceparent);
    });
    const jobs = Array.isArray(found) ? (found as Record<string, unknown>[]) : [];
    return traces.size === 0 ? jobs : jobs.map((job) => ({ ...job, traceparent: traces.get(job['id'] as string) }));
  }

  /** Waits for jobs to stop. Returns their ids. */
  async stops(): Promise<string[]> {
    const found = await this.#get(this.#config.takeUrl.replace('/job-take/', '/job-stop/'));
    return (found as { jobsToStop?: string[] } | undefined)?.jobsToStop ?? [];
  }

  /** Reports that the worker lives and which jobs it holds. */
  async ping(jobIds: readonly string[]): Promise<void> {
    const held = jobIds.length > 0 ? `&job_id=${jobIds.join(',')}` : '';
    await this.#get(`${this.#config.pingUrl}${held}&runpod_version=slipway-${SDK_VERSION}`);
  }

  /** Posts a result. Resolves when it is safe. Results of the same moment are sent together. */
  async done(jobId: string, body: string, isStream: boolean): Promise<void> {
    if (await this.#sendFrame(FrameKind.RESULT, jobId, body, isStream)) return;
    await this.#results.send(jobId, body, isStream);
  }

  /** Returns true if a message with this body goes over the link. A later take then stays behind it. */
  goesByLink(body: string): boolean {
    // A character takes at most three bytes.
    return this.#link?.isOpen === true && body.length * 3 <= LINK_BODY_BYTES_MAX;
  }

  /** Posts a progress value. */
  async progress(jobId: string, body: string): Promise<void> {
    if (!(await this.#sendFrame(FrameKind.PROGRESS, jobId, body))) await this.#single(jobId, body, false);
  }

  /** Posts a yielded value. */
  async chunk(jobId: string, body: string): Promise<void> {
    if (await this.#sendFrame(FrameKind.VALUE, jobId, body)) return;
    await this.#post(`${this.#config.streamUrl.replaceAll('$ID', jobId)}&isStream=false`, body);
  }

  /** Returns the link, opening it if needed; `undefined` if there is none: then calls are requests of their own. */
  async #linked(): Promise<AgentLink | undefined> {
    if (this.#link?.isOpen || !this.#knowsLinks) return this.#link;
    const url = this.#config.takeUrl.replace('/job-take/', '/job-link/');
    try {
      this.#link = await AgentLink.open(url, this.#headers);
      this.#knowsLinks = this.#link !== undefined;
    } catch {
      // The request that is made instead shows why the agent cannot be reached.
      this.#link = undefined;
    }
    return this.#link;
  }

  /**
   * Sends a message over the link. Returns false if it must be posted instead, for the first time or again; posting is
   * idempotent.
   */
  async #sendFrame(kind: number, jobId: string, body: string, isStream = false): Promise<boolean> {
    if (!this.goesByLink(body)) return false;
    return await this.#link!.ask(kind, jobId, isStream ? 1 : 0, body).then(
      () => true,
      () => false,
    );
  }

  async #single(jobId: string, body: string, isStream: boolean): Promise<void> {
    await this.#post(`${this.#config.doneUrl.replaceAll('$ID', jobId)}&isStream=${isStream}`, body);
  }

  async #get(url: string, onTraces?: (header: string) => void): Promise<unknown> {
    const { status, headers, body } = await this.#polls.send(url);
    const traces = headers['slipway-traceparents'];
    if (typeof traces === 'string') onTraces?.(traces);
    if (status === 200 && headers['content-type'] !== undefined) return JSON.parse(body.toString());
    if (status >= 400) throw new Error(`the agent answered ${status}`);
    return undefined;
  }

  /** Posts a body. Returns the status, which is below 500. */
  async #post(url: string, body: string): Promise<number> {
    for (let tries = 1; ; tries += 1) {
      try {
        const { status } = await this.#posts.send(url, body);
        if (status < 500) return status;
        throw new Error(`the agent answered ${status}`);
      } catch (error) {
        if (tries === POSTS_MAX) throw error;
        await pause(PAUSE_MS * tries);
      }
    }
  }
}

/** Resolves after `ms` milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
