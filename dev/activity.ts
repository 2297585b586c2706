/**
 * Reports what happens while npm start runs: a line for every job that ended or was cancelled, sums when there are many
 * jobs, and crashes of workers. It asks core once a second for numbers that core keeps anyway, and seldom while core
 * reports no activity. It lists jobs only while they are few, so that a busy system does not notice it.
 */

import type { CoreServices } from '@slipway/facades/core-client/core-services';
import { boundedCache } from '@slipway/kit/bytes/bounded-cache';
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { Job } from '@slipway/proto/gen/slipway/v1/job';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { by } from './call-by.ts';
import { CANCELLED_LISTED, CancelledJobs } from './cancelled-jobs.ts';
import type { WorkerCrashes } from './processes/worker-crashes.ts';
import { plain } from './repeats.ts';

const PERIOD_MS = 1_000;
/** Longest time between two polls, in milliseconds: a hint of activity may get lost. */
const QUIET_PERIOD_MS = 120_000;
/** Polls after the last hint: rows that it announces may still be uncommitted. */
const POLLS_AFTER_HINT = 5;
/** Time between two reads of the list of endpoints, in milliseconds. */
const LIST_PERIOD_MS = 10_000;
/** Most endpoints that are polled: the served endpoint and the newest of the others. */
const ENDPOINTS_MAX = 10;
/** Most lines of jobs in a second. More jobs become one line. */
const LINES_MAX = 10;
/** Pause after a listing, as a multiple of the time that the listing took. A listing reads all jobs of its endpoint. */
const REST_FACTOR = 20;
const SHOWN_MAX = 500;
const ERROR_LENGTH_MAX = 120;

interface ActivityOptions {
  core: CoreServices;
  apiKey: string;
  /** The served endpoint. */
  endpointId: string;
  crashes: WorkerCrashes;
  /** Hints that something has happened. Default: none come, and it polls once a second. */
  news?: ActivityTrigger;
  clock: Clock;
  signal: AbortSignal;
  step(line: string): void;
}

interface Watched {
  id: string;
  name: string;
  completed: number;
  failed: number;
  atMs: number;
}

/**
 * Starts the reports. Resolves after the first poll: whatever ends from then on is reported. It runs until the signal
 * aborts, then `over` resolves. Neither promise ever rejects.
 */
export async function showActivity(options: ActivityOptions): Promise<{ over: Promise<void> }> {
  const activity = new Activity(options);
  const { clock, signal, news } = options;
  let listedMs = -Infinity;
  const poll = async (): Promise<void> => {
    const now = clock.monotonicMs();
    try {
      if (now - listedMs >= LIST_PERIOD_MS) {
        await activity.listEndpoints();
        listedMs = now;
      }
      await activity.poll();
    } catch {
      // Core is restarting. What ended meanwhile is reported afterwards.
    }
  };
  await poll();
  const run = async (): Promise<void> => {
    for (let left = POLLS_AFTER_HINT; !signal.aborted; left -= 1) {
      await delay(clock, PERIOD_MS, signal);
      if (left <= 0) await news?.given(clock, QUIET_PERIOD_MS - PERIOD_MS, signal);
      if (news?.take()) left = POLLS_AFTER_HINT;
      if (!signal.aborted) await poll();
    }
  };
  return { over: run() };
}

/** Hint that something has happened, and the wait for it. */
export class ActivityTrigger {
  #given = false;
  #interrupt: () => void = () => undefined;

  give(): void {
    this.#given = true;
    this.#interrupt();
  }

  /** Returns whether a hint was given since the last call. */
  take(): boolean {
    const given = this.#given;
    this.#given = false;
    return given;
  }

  /** Resolves once a hint is given that was not taken, and at the latest after `msMax`. */
  async given(clock: Clock, msMax: number, signal: AbortSignal): Promise<void> {
    if (this.#given) return;
    const interrupted = new AbortController();
    this.#interrupt = () => interrupted.abort();
    await delay(clock, msMax, AbortSignal.any([signal, interrupted.signal]));
  }
}

class Activity {
  readonly #options: ActivityOptions;
  readonly #watched = new Map<string, Watched>();
  readonly #shown = boundedCache<string, true>(SHOWN_MAX);
  readonly #held = boundedCache<string, true>(SHOWN_MAX);
  #endpoints: { id: string; name: string }[] = [];
  readonly #cancelled: CancelledJobs;
  #restUntilMs = 0;

  constructor(options: ActivityOptions) {
    this.#options = options;
    this.#cancelled = new CancelledJobs({ ...options, restFactor: REST_FACTOR });
  }

  async listEndpoints(): Promise<void> {
    const { core, apiKey, endpointId } = this.#options;
    const { endpoints } = await core.endpoints.call((client) => client.listEndpoints, {}, by(apiKey));
    for (const endpoint of endpoints) this.#reportHeld(endpoint);
    const own = endpoints.filter(({ id }) => id === endpointId);
    this.#endpoints = [...own, ...endpoints.filter(({ id }) => id !== endpointId).toReversed()].slice(0, ENDPOINTS_MAX);
  }

  /** Reports a version that does not start, once. */
  #reportHeld({ id, name, version, rolloutState, rolloutReason }: Endpoint): void {
    const key = `${id} ${version}`;
    if (rolloutState !== 'HELD' || this.#held.has(key)) return;
    this.#held.set(key, true);
    this.#options.step(`the release of ${name} is held: ${plain(rolloutReason)}`);
  }

  async poll(): Promise<void> {
    const { core, apiKey, crashes } = this.#options;
    for (const { id, name } of this.#endpoints) {
      await this.#jobs(id, name);
      const { workers, ended } = await core.machines.call(
        (client) => client.listWorkers,
        { endpointId: id },
        by(apiKey),
      );
      crashes.update(name, workers, ended);
    }
    for (const {
      endpoint: { id, name },
      jobs,
    } of await this.#cancelled.poll(this.#endpoints))
      this.#reportCancelled(jobs, this.#suffixOf(id, name));
  }

  async #jobs(id: string, name: string): Promise<void> {
    const { core, apiKey, clock } = this.#options;
    const { jobs } = await core.jobs.call((client) => client.getHealth, { endpointId: id }, by(apiKey));
    const now = { id, name, completed: jobs!.completed, failed: jobs!.failed, atMs: clock.monotonicMs() };
    const before = this.#watched.get(id);
    const completed = now.completed - (before?.completed ?? now.completed);
    const failed = now.failed - (before?.failed ?? now.failed);
    if (before && completed + failed > 0) await this.#report(before, now, { completed, failed });
    this.#watched.set(id, now);
  }

  async #report(
    before: Watched,
    { id, name, atMs }: Watched,
    ended: { completed: number; failed: number },
  ): Promise<void> {
    const { step } = this.#options;
    const count = ended.completed + ended.failed;
    const few = count <= LINES_MAX && atMs >= this.#restUntilMs;
    const found = few ? await this.#list(id, ended) : [];
    for (const job of found) step(jobLine(job, this.#suffixOf(id, name)));
    const left = count - found.length;
    if (left === 0) return;
    const seconds = Math.max(1, Math.round((atMs - before.atMs) / 1_000));
    const failures = found.length === 0 && ended.failed > 0 ? `, ${ended.failed} failed` : '';
    step(
      `… ${left} ${found.length > 0 ? 'more ' : ''}${left === 1 ? 'job' : 'jobs'}${this.#suffixOf(id, name)} in ` +
        `the last ${seconds === 1 ? 'second' : `${seconds} seconds`}${failures}`,
    );
  }

  #reportCancelled(jobs: readonly Job[], suffix: string): void {
    const { step } = this.#options;
    for (const job of jobs.slice(0, LINES_MAX)) step(jobLine(job, suffix));
    const left = jobs.length - LINES_MAX;
    if (left > 0)
      step(
        `… ${left === CANCELLED_LISTED - LINES_MAX ? 'many' : left} more ${left === 1 ? 'job' : 'jobs'}${suffix} ` +
          'CANCELLED',
      );
  }

  /** Returns the jobs that ended since the last poll, as far as they are found, in the order in which they ended. */
  async #list(endpointId: string, ended: { completed: number; failed: number }): Promise<Job[]> {
    const { core, apiKey, clock } = this.#options;
    const startedMs = clock.monotonicMs();
    const states = [
      ...(ended.completed > 0 ? [JobState.COMPLETED] : []),
      ...(ended.failed > 0 ? [JobState.FAILED, JobState.TIMED_OUT] : []),
    ];
    const jobs: Job[] = [];
    for (const state of states) {
      const request = { endpointId, state, offset: 0, limit: 2 * LINES_MAX, pageToken: '', oldestFirst: false };
      jobs.push(...(await core.jobs.call((client) => client.listJobs, request, by(apiKey))).jobs);
    }
    const endedMs = clock.monotonicMs();
    this.#restUntilMs = endedMs + (endedMs - startedMs) * REST_FACTOR;
    const newest = jobs
      .filter(({ id }) => !this.#shown.has(id))
      .sort((a, b) => msOf(b) - msOf(a))
      .slice(0, ended.completed + ended.failed)
      .toReversed();
    for (const { id } of newest) this.#shown.set(id, true);
    return newest;
  }

  #suffixOf(id: string, name: string): string {
    return id === this.#options.endpointId ? '' : ` of ${name}`;
  }
}

const msOf = ({ finishTime }: Job): number => finishTime?.getTime() ?? 0;

function jobLine({ id, state, delayMs, executionMs, error }: Job, suffix: string): string {
  // The end of the job's UUID. Its beginning is the time, which jobs of the same minute share.
  const short = /-([0-9a-f]{12})-u1$/.exec(id)?.[1] ?? id;
  const times = executionMs === undefined ? '' : ` in ${executionMs} ms after waiting ${delayMs ?? 0} ms`;
  const why = error === undefined ? '' : `: ${plain(error).replace(/\s+/g, ' ').slice(0, ERROR_LENGTH_MAX)}`;
  const status = Object.entries(JobState).find(([, value]) => value === state)?.[0] ?? 'ended';
  return `job ${short}${suffix} ${status}${times}${why}`;
}
