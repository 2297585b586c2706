/** Rules over what clients see of a job: it is never lost, and it has one end, which is its handler's. */
import type { Seen } from './history.ts';
import {
  isEnd,
  isMadeAnew,
  mayBeGoneAtMs,
  mayBeRetried,
  mayHave,
  type Story,
  type StoryRule,
  tokenOf,
} from './story.ts';

/** Inaccuracy that is forgiven in times, in milliseconds. */
const SLACK_MS = 1_500;

/** Returns the pairs of answers of which the second was asked for after the first had come. */
function pairs({ seen }: Story): [Seen, Seen][] {
  return seen.flatMap((a, index) => {
    const b = seen.slice(index + 1).find((later) => later.fromMs >= a.atMs);
    return b ? [[a, b] as [Seen, Seen]] : [];
  });
}

/** An acknowledged job is there until its ttl, its retention or a purge. */
export const notLost: StoryRule = (story) => {
  const fromMs = Math.min(...story.acknowledged.map((event) => event.fromMs));
  return story.seen.map((seen) => {
    if (seen.state !== null || seen.atMs >= mayBeGoneAtMs(story)) return undefined;
    const last = story.seen.findLast((before) => before.atMs <= seen.fromMs && before.state !== null);
    // A purge takes jobs that wait, none that has ended.
    const purgedFromMs = last && isEnd(last) && !mayBeRetried(story, last.fromMs, seen.atMs) ? Infinity : fromMs;
    if (mayHave(story, ['purge'], purgedFromMs, seen.atMs)) return undefined;
    return { text: `is gone at ${seen.atMs}, and was ${last?.state ?? 'acknowledged'}` };
  });
};

/** A job has one outcome, until its owner retries it. */
export const oneOutcome: StoryRule = (story) => {
  const ends = story.seen.filter((seen) => isEnd(seen) && seen.output !== undefined);
  return ends.slice(1).map((b, index) => {
    const a = ends[index]!;
    const same = a.state === b.state && a.output === b.output && a.error === b.error;
    if (same || mayBeRetried(story, a.fromMs, b.atMs) || isMadeAnew(story, a.fromMs, b.atMs)) return undefined;
    return { text: `was ${a.state} ${a.output}${a.error}, and is ${b.state} ${b.output}${b.error}` };
  });
};

/** A job that is COMPLETED has the output of its attempt's handler, and one that FAILED a true error. */
export const handlersOutput: StoryRule = ({ seen, ended }) =>
  seen.filter(isEnd).map(({ state, output, error, attempt, atMs }) => {
    if (error === 'lie') return { text: 'has an error that no handler gave' };
    if (state !== 'COMPLETED' || output === undefined) return undefined;
    const end = ended.find(({ token, how }) => how === 'COMPLETED' && token === tokenOf(output));
    if (!end || end.atMs > atMs) return { text: `is COMPLETED with ${output}, which no handler returned` };
    return attempt < 0 || end.attempt === attempt
      ? undefined
      : { text: `is at attempt ${attempt} with output of ${end.attempt}` };
  });

/** States follow each other as the table of transitions says, and attempts only grow. */
export const transitions: StoryRule = (story) =>
  pairs(story).map(([a, b]) => {
    const text = `was ${a.state} at ${a.atMs}, and is ${b.state} at ${b.atMs}`;
    if (isMadeAnew(story, a.fromMs, b.atMs)) return undefined;
    if (a.state === null) return b.state === null ? undefined : { text };
    if (b.state === null) return undefined;
    if (b.attempt >= 0 && b.attempt < a.attempt) return { text: `was at attempt ${a.attempt}, and is at ${b.attempt}` };
    if (!isEnd(a) || a.state === b.state) return undefined;
    const mayMove = a.state === 'FAILED' || a.state === 'TIMED_OUT';
    return mayMove && mayBeRetried(story, a.fromMs, b.atMs) ? undefined : { text };
  });

/** A ttl, and the retention of an outcome, end the job in time. */
export const expiry: StoryRule = (story) => {
  const { acknowledged, changed, seen } = story;
  const endsAtMs = Math.min(
    ...acknowledged.map(({ atMs, ttlMs }) => atMs + ttlMs),
    ...changed.map(({ is, atMs, done }) => (is === 'ttl' && done > 0 && atMs !== undefined ? atMs + done : Infinity)),
  );
  const retentionMs = Math.max(...acknowledged.map((event) => event.retentionMs));
  const end = seen.find(isEnd);
  return seen.map(({ state, fromMs, atMs }) => {
    if (state === null || isMadeAnew(story, 0, atMs)) return undefined;
    if (fromMs > endsAtMs + SLACK_MS) return { text: `is ${state} at ${fromMs}, and its ttl ended at ${endsAtMs}` };
    const isKept = end !== undefined && fromMs > end.atMs + retentionMs + SLACK_MS;
    return isKept && !mayBeRetried(story, 0, fromMs) ? { text: 'is kept beyond its retention' } : undefined;
  });
};

/** After a cancellation was acknowledged the job neither waits nor runs. */
export const cancelled: StoryRule = (story) =>
  story.changed
    .filter(({ is, atMs, done }) => is === 'cancel' && atMs !== undefined && done > 0)
    .map(({ atMs }) => {
      const seen = story.seen.find(({ state, fromMs }) => fromMs >= atMs! && state !== null && !isFinalState(state));
      if (!seen || mayBeRetried(story, 0, seen.atMs)) return undefined;
      return { text: `was cancelled at ${atMs}, and is ${seen.state} at ${seen.fromMs}` };
    });

function isFinalState(state: NonNullable<Seen['state']>): boolean {
  return state !== 'IN_QUEUE' && state !== 'IN_PROGRESS';
}

/** A purge, or a cancellation of all that waits, leaves no job that waited all along. */
export const purged: StoryRule = (story) =>
  story.changed
    .filter(({ is, atMs }) => (is === 'purge' || is === 'bulk cancel') && atMs !== undefined)
    .map(({ is, fromMs, atMs }) => {
      const isOlder = story.acknowledged.some((event) => event.atMs < fromMs);
      const left = story.seen.find((seen) => seen.fromMs >= atMs! && seen.state === 'IN_QUEUE' && seen.attempt === 0);
      const isAnew = left && isMadeAnew(story, fromMs, left.atMs);
      return isOlder && left && !isAnew
        ? { text: `waits at ${left.fromMs} after a ${is} that ended at ${atMs}` }
        : undefined;
    });

/** A retry of all that failed leaves no job that had failed before. */
export const retriedInBulk: StoryRule = (story) =>
  story.changed
    .filter(({ is, atMs }) => is === 'bulk retry' && atMs !== undefined)
    .map(({ fromMs, atMs }) => {
      const before = story.seen.findLast((seen) => seen.atMs < fromMs);
      const after = story.seen.find((seen) => seen.fromMs >= atMs!);
      const isSame = before !== undefined && before.attempt >= 0 && before.attempt === after?.attempt;
      const isLeft = isSame && before.state === 'FAILED' && after.state === 'FAILED';
      return isLeft ? { text: `is still FAILED after a bulk retry that ended at ${atMs}` } : undefined;
    });
