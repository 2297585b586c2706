/** Checks a history against what must always hold. */

import {
  deliveredOnce,
  noLaterAttempt,
  nothingAfterItsStop,
  onceAnAttempt,
  oneExecution,
  streams,
  webhooks,
} from './attempt-rules.ts';
import { ofBalancing } from './balancing-rules.ts';
import type { History, HistoryEvent, Violation } from './history.ts';
import {
  cancelled,
  expiry,
  handlersOutput,
  notLost,
  oneOutcome,
  purged,
  retriedInBulk,
  transitions,
} from './outcome-rules.ts';
import type { Story, StoryRule } from './story.ts';
import { isEnd, mayBeGoneAtMs, mayHave, storiesOf } from './story.ts';

/** Rules over one job, by name. */
const STORY_RULES: Readonly<Record<string, StoryRule>> = {
  'an acknowledged job is not lost': notLost,
  'a job has one outcome': oneOutcome,
  'an output is its handler’s': handlersOutput,
  'states follow the table': transitions,
  'ttl and retention end in time': expiry,
  'a cancelled job is over': cancelled,
  'purge and bulk cancel leave nothing': purged,
  'bulk retry leaves nothing': retriedInBulk,
  'a job runs at one place at a time': oneExecution,
  'no attempt after the end': noLaterAttempt,
  'an attempt runs once': onceAnAttempt,
  'an acknowledged outcome counts': deliveredOnce,
  'no attempt is sent after its stop': nothingAfterItsStop,
  'streams are whole and in order': streams,
  'webhooks come, and after their outcome': webhooks,
};

/** A job may wait so long beside an idle worker of its endpoint, in milliseconds. */
const WAIT_MS_MAX = 12_000;

/** Returns what is wrong, at most one violation for each rule and job. */
export function check(history: History): Violation[] {
  const stories = storiesOf(history);
  const ofJobs = stories.flatMap((story) =>
    Object.entries(STORY_RULES).flatMap(([rule, find]) => {
      const fault = find(story).find((one) => one !== undefined);
      return fault ? [{ rule, job: story.job, ...fault }] : [];
    }),
  );
  const converged = history.some(({ is }) => is === 'converged');
  const open = stories.filter(({ seen }) => seen.length > 0 && seen.at(-1)!.state !== null && !isEnd(seen.at(-1)!));
  const late = converged ? open : [...open, ...(open.length === 0 ? [{ job: '', seen: [] }] : [])];
  return [
    ...ofJobs,
    ...late.map(({ job, seen }) => ({
      rule: 'in calm everything comes to its end',
      job,
      text: `is ${seen.at(-1)?.state ?? 'not known to all of its clients'}`,
    })),
    ...oneJobFor(stories, 'key'),
    ...oneJobFor(stories, 'request'),
    ...oneJobForClient(history, stories),
    ...history.flatMap(ofMoment),
  ];
}

/** Checks that one idempotency key, or one request, is one job until that job is deleted. */
function oneJobFor(stories: readonly Story[], what: 'key' | 'request'): Violation[] {
  const tries = stories.flatMap((story) => story.acknowledged.map((event) => ({ event, story })));
  return tries
    .filter(({ event }) => event[what] !== '')
    .flatMap(({ event, story }) => {
      const other = tries.find((one) => one.event[what] === event[what] && one.event.job < event.job);
      if (!other) return [];
      const isFree = [story, other.story].some(
        (one) => mayBeGoneAtMs(one) <= Math.max(event.atMs, other.event.atMs) || mayHave(one, ['purge'], 0, Infinity),
      );
      const text = `${event[what]} also made ${other.event.job}`;
      return isFree ? [] : [{ rule: `one ${what} is one job`, job: event.job, text }];
    });
}

/** Checks that a client's input runs as one job, however often it is submitted. */
function oneJobForClient(history: History, stories: readonly Story[]): Violation[] {
  const starts = history.filter((event) => event.is === 'started');
  return starts.flatMap(({ job, client, atMs }) => {
    const other = starts.find((begin) => begin.client === client && begin.job !== job);
    const isFree = stories.some(
      (one) =>
        (one.job === job || one.job === other?.job) &&
        (mayBeGoneAtMs(one) <= Math.max(atMs, other?.atMs ?? 0) || mayHave(one, ['purge'], 0, Infinity)),
    );
    if (!other || isFree) return [];
    return [{ rule: 'one submission is one job', job, text: `and ${other.job} have the input of ${client}` }];
  });
}

function ofMoment(event: HistoryEvent): Violation[] {
  if (event.is === 'forwarded' || event.is === 'held' || event.is === 'snapshot') return ofBalancing(event);
  if (event.is === 'waited' && event.ms > WAIT_MS_MAX)
    return [{ rule: 'no job waits beside an idle worker', job: event.job, text: `waits for ${event.ms} ms` }];
  if (event.is !== 'counted') return [];
  const wrong = Object.keys(event.truth).filter((name) => event.truth[name] !== event.counted[name]);
  return wrong.map((name) => ({
    rule: 'counts are true',
    job: '',
    text: `${event.endpoint} has ${event.truth[name]} ${name}, and health says ${event.counted[name]}`,
  }));
}
