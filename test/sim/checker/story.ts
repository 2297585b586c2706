/** Sorts a history by job: each story holds the events of one job, in order. */
import { isFinal } from '@slipway/core/domain/jobs/job-state';
import type {
  Acknowledged,
  Called,
  Changed,
  Delivered,
  Ended,
  History,
  HistoryEvent,
  Seen,
  SentLate,
  Started,
  Streamed,
  Violation,
} from './history.ts';
import { EFFECT_MS_MAX } from './history.ts';

export interface Story {
  job: string;
  endpoint: string;
  acknowledged: Acknowledged[];
  seen: Seen[];
  started: Started[];
  ended: Ended[];
  streamed: Streamed[];
  delivered: Delivered[];
  called: Called[];
  sentLate: SentLate[];
  /** Changes of the job, and those of all jobs of its endpoint. */
  changed: Changed[];
}

/** A rule over one job. */
export type StoryRule = (story: Story) => (Omit<Violation, 'rule' | 'job'> | undefined)[];

/** Returns the stories of all jobs that were acknowledged or run. */
export function storiesOf(history: History): Story[] {
  const stories = new Map<string, Story>();
  const of = (job: string): Story => {
    const story = stories.get(job) ?? {
      ...{ job, endpoint: '', acknowledged: [], seen: [], started: [] },
      ...{ ended: [], delivered: [], streamed: [], called: [], sentLate: [], changed: [] },
    };
    stories.set(job, story);
    return story;
  };
  for (const event of history) add(event, of);
  for (const story of stories.values()) {
    story.endpoint = story.acknowledged[0]?.endpoint ?? '';
    for (const event of history)
      if (isChange(event) && event.job === '' && event.endpoint === story.endpoint) story.changed.push(event);
  }
  return [...stories.values()].filter(({ acknowledged }) => acknowledged.length > 0);
}

function add(event: HistoryEvent, of: (job: string) => Story): void {
  if (event.is === 'acknowledged') of(event.job).acknowledged.push(event);
  else if (event.is === 'seen') of(event.job).seen.push(event);
  else if (event.is === 'started') of(event.job).started.push(event);
  else if (event.is === 'ended') of(event.job).ended.push(event);
  else if (event.is === 'delivered') of(event.job).delivered.push(event);
  else if (event.is === 'streamed') of(event.job).streamed.push(event);
  else if (event.is === 'called') of(event.job).called.push(event);
  else if (event.is === 'sent late') of(event.job).sentLate.push(event);
  else if (isChange(event) && event.job !== '') of(event.job).changed.push(event);
}

function isChange(event: HistoryEvent): event is Changed {
  return 'done' in event;
}

/** Returns whether an event says that the job has ended. */
export function isEnd({ state }: Seen): boolean {
  return state !== null && isFinal(state);
}

/** Returns whether one of these operations may have happened between two instants. */
export function mayHave(story: Story, what: readonly Changed['is'][], fromMs: number, toMs: number): boolean {
  return story.changed.some(
    (change) => what.includes(change.is) && change.fromMs < toMs && (change.atMs ?? Infinity) > fromMs,
  );
}

/** Returns whether the job may have been queued again by its owner between two instants. */
export function mayBeRetried(story: Story, fromMs: number, toMs: number): boolean {
  return mayHave(story, ['retry', 'bulk retry'], fromMs, toMs);
}

/** Returns from when on nothing of the job may be left, as far as its clients know. */
export function mayBeGoneAtMs({ acknowledged, changed }: Story): number {
  const lives = acknowledged.map(({ fromMs, ttlMs, retentionMs }) => fromMs + Math.min(ttlMs, retentionMs));
  const set = changed.filter(({ is }) => is === 'ttl').map(({ fromMs, done }) => fromMs + done);
  return Math.min(...lives, ...set);
}

/**
 * Returns whether the job may have been made anew between two instants: it was purged or had expired, and a send of its
 * submission was in flight then, or came later. A job has the id of its request, so it has its old id. The send that
 * makes the job may get no answer, and its client may have had its answer by another send. A send that was answered, or
 * whose replica was dead, before the job was gone must not make it.
 */
export function isMadeAnew(story: Story, fromMs: number, toMs: number): boolean {
  const purges = story.changed.filter(({ is }) => is === 'purge').map((change) => change.fromMs);
  const goneMs = Math.min(mayBeGoneAtMs(story), ...purges);
  const sends = story.acknowledged.flatMap((event) => event.sends);
  return sends.some(({ atMs, overMs = atMs + EFFECT_MS_MAX }) => atMs < toMs && overMs > Math.max(goneMs, fromMs));
}

/** Returns the token in an output or an error. */
export function tokenOf(text: string): string {
  return /"token":"(\w+)"/.exec(text)?.[1] ?? /^failed (\w+)$/.exec(text)?.[1] ?? '';
}
