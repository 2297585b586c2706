/**
 * A client of a facade with a short /runsync. The facade notices at once when its core dies, or when its stream to a
 * core breaks, and submits again with the same request id. A fault may strike at each step of such a job.
 */
import type { Job } from '@slipway/core/domain/jobs/job';
import { isFinal, type JobState } from '@slipway/core/domain/jobs/job-state';
import { WaitStopper } from '@slipway/core/jobs/read/wait-stopper';
import type { HistoryEvent, Send } from '../checker/history.ts';
import { NATURE } from '../world/being.ts';
import type { Answer, Asking } from './ask-replica.ts';
import { askReplica } from './ask-replica.ts';
import { JobView } from './job-view.ts';
import type { SimReplica } from './replica.ts';
import type { SimInput } from './sim-worker.ts';

export interface ShortClientOptions extends Asking {
  record(event: HistoryEvent): void;
  /** Strikes with a fault of its choice at a job that this replica has accepted. */
  strike(replica: SimReplica): void;
}

/** Endpoint whose handlers are short, with workers that are always ready. */
export const SHORT_ENDPOINT = 'endpoint000003';

/** How long a handler runs, in milliseconds: usually, and now and then. */
const RUN_MS = { least: 1, most: 8, late: 400 };
/** A fault strikes so many milliseconds after a submission: before its assignment arrives to after its commit. */
const STRIKE_MS = { least: 0, most: 16 };
const PAUSE_MS = { least: 20, most: 300 };
/** Pause of a facade before it submits again, in milliseconds. */
const AGAIN_MS = { least: 0, most: 3 };
const WAIT_MS = 5_000;
const RETENTION_MS = 60_000;
const DAY_MS = 86_400_000;

export class ShortClient {
  readonly #options: ShortClientOptions;
  readonly #name: string;
  readonly #request: string;
  readonly #input: SimInput;
  readonly #view: JobView;
  /** It has seen the end of its job, and nothing is left to do. */
  isOver = false;

  constructor(options: ShortClientOptions, name: string) {
    const { world } = options;
    this.#options = options;
    this.#name = name;
    this.#request = world.random.uuid();
    const ms = world.chance(0.08) ? world.between(RUN_MS.most, RUN_MS.late) : world.between(RUN_MS.least, RUN_MS.most);
    this.#input = { client: name, ms, ...(world.chance(0.08) && { fails: true }) };
    this.#view = new JobView(options, SHORT_ENDPOINT, name);
    void this.#run();
  }

  /** The job, once it is acknowledged. */
  get job(): string {
    return this.#view.job;
  }

  /** Reads the job's state once. */
  look(): Promise<JobState | null | undefined> {
    return this.#view.look();
  }

  async #run(): Promise<void> {
    const { world } = this.#options;
    if (world.chance(0.05))
      world.after(world.between(STRIKE_MS.least, STRIKE_MS.most), NATURE, () => void this.#cancel());
    let state = await this.#submit();
    while (state !== null && (state === undefined || !isFinal(state))) {
      await world.pause(world.between(PAUSE_MS.least, PAUSE_MS.most), NATURE);
      state = await this.look();
    }
    // Its end must stay what it was.
    await world.pause(world.between(500, 5_000), NATURE);
    await this.look();
    this.isOver = true;
  }

  async #submit(): Promise<JobState | null | undefined> {
    const { world, record, strike } = this.#options;
    const firstMs = world.nowMs;
    const sentTo: string[] = [];
    const sends: Send[] = [];
    for (let tries = 1; ; tries += 1) {
      const fromMs = world.nowMs;
      const answer = await this.#ask(tries === 1, sends, (replica) => {
        sentTo.push(replica.name);
        const ms = world.between(STRIKE_MS.least, STRIKE_MS.most);
        if (world.chance(0.3)) world.after(ms, NATURE, () => strike(replica));
      });
      if (answer === 'unknown' || 'error' in answer) {
        const waits = this.#options.replicas().length === 0 || world.chance(0.3);
        const { least, most } = waits ? PAUSE_MS : AGAIN_MS;
        await world.pause(world.between(least, most), NATURE);
        continue;
      }
      this.#view.job = answer.value.id;
      const ids = {
        job: this.job,
        endpoint: SHORT_ENDPOINT,
        request: this.#request,
        key: '',
        webhook: false,
        sentTo,
      };
      const times = { fromMs: firstMs, sends, atMs: world.nowMs, ttlMs: DAY_MS, retentionMs: RETENTION_MS };
      record({ is: 'acknowledged', ...ids, ...times });
      world.note(this.#name, 'acknowledged', this.job);
      return this.#view.saw(fromMs, answer);
    }
  }

  /** Submits once. Some streams break soon, while their core lives on. */
  #ask(isFirstSend: boolean, sends: Send[], onAsked: (replica: SimReplica) => void): Promise<Answer<Job>> {
    const { world } = this.#options;
    const submission = {
      endpointId: SHORT_ENDPOINT,
      requestId: this.#request,
      kind: 'SYNC' as const,
      input: Buffer.from(JSON.stringify(this.#input)),
      webhook: '',
      policy: { ttlMs: undefined, executionTimeoutMs: undefined, lowPriority: undefined },
      s3Config: undefined,
      waitMs: WAIT_MS,
      idempotencyKey: '',
      isFirstSend,
    };
    const breaks = world.chance(0.2);
    return askReplica(this.#options, (calls) => calls.submitAndWait(submission, new WaitStopper()), {
      ...{ noticesCut: true, sends },
      onAsked: (replica) => {
        if (breaks) world.fault('stream of a facade broken', this.#name);
        onAsked(replica);
      },
      ...(breaks && { ms: world.between(STRIKE_MS.least, STRIKE_MS.most) }),
    });
  }

  /** Cancels the job that this request makes, perhaps before it is stored. */
  async #cancel(): Promise<void> {
    const fromMs = this.#options.world.nowMs;
    const jobId = `sync-${this.#request}-u1`;
    const answer = await askReplica(this.#options, (calls) => calls.cancel({ endpointId: SHORT_ENDPOINT, jobId }));
    this.#view.changed('cancel', fromMs, answer, 0, jobId);
  }
}
