/**
 * Sends results to the agent. Results of the same moment share one request, because a request costs more than the
 * result in it. The first is sent at once; results that come while two requests are in progress leave with the next.
 * There is no timer.
 */

/** The two kinds of requests. Both reject if the agent cannot be reached. */
export interface ResultPosts {
  single(jobId: string, body: string, isStream: boolean): Promise<void>;
  /** Resolves to false if this agent does not support batches. */
  batch(body: string): Promise<boolean>;
}

interface Waiting {
  jobId: string;
  body: string;
  isStream: boolean;
  resolve(): void;
  reject(error: unknown): void;
}

/** Most requests in progress. The second is being written while the agent makes the first safe. */
const FLIGHTS_MAX = 2;
/** Length in characters from which a result is sent alone: the others must not wait for it. */
const ALONE_LENGTH_MIN = 16_384;
const RESULTS_MAX = 500;
const LENGTH_MAX = 1_000_000;

export class ResultSender {
  readonly #posts: ResultPosts;
  #waiting: Waiting[] = [];
  #flights = 0;
  #batches = true;

  constructor(posts: ResultPosts) {
    this.#posts = posts;
  }

  /** Sends a result. Resolves when the agent has made it safe. Rejects if it could not be sent. */
  send(jobId: string, body: string, isStream: boolean): Promise<void> {
    if (!this.#batches || body.length >= ALONE_LENGTH_MIN) return this.#posts.single(jobId, body, isStream);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ jobId, body, isStream, resolve, reject });
      this.#fly();
    });
  }

  #fly(): void {
    if (this.#flights >= FLIGHTS_MAX || this.#waiting.length === 0) return;
    this.#flights += 1;
    const batch = this.#next();
    this.#post(batch)
      .then(
        () => {
          for (const { resolve } of batch) resolve();
        },
        (error: unknown) => {
          for (const { reject } of batch) reject(error);
        },
      )
      .finally(() => {
        this.#flights -= 1;
        this.#fly();
      });
  }

  #next(): Waiting[] {
    let length = 0;
    const end = this.#waiting.findIndex(
      ({ body }, index) => index >= RESULTS_MAX || (length += body.length) > LENGTH_MAX,
    );
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : Math.max(1, end));
  }

  async #post(batch: readonly Waiting[]): Promise<void> {
    const [first] = batch;
    if (batch.length === 1 && first) return this.#posts.single(first.jobId, first.body, first.isStream);
    if (this.#batches && (await this.#posts.batch(batch.map(encode).join('')))) return;
    // An older agent.
    this.#batches = false;
    await Promise.all(batch.map(({ jobId, body, isStream }) => this.#posts.single(jobId, body, isStream)));
  }
}

function encode({ jobId, body, isStream }: Waiting): string {
  return `${jobId} ${isStream ? 1 : 0} ${Buffer.byteLength(body)}\n${body}\n`;
}
