/** Rules over what handlers do, and what clients get of it: executions, streams, webhooks. */
import { ANNOUNCED_STATES } from '@slipway/core/domain/jobs/job-state';
import type { Started, Streamed } from './history.ts';
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

/** A job runs at one place at a time: a lease that was given away has ended before. */
export const oneExecution: StoryRule = (story) => {
  const { started, ended } = story;
  return started.map((begin, index) => {
    const endMs = ended.find(({ token }) => token === begin.token)?.atMs ?? Infinity;
    const next = started.slice(index + 1).find(({ atMs }) => atMs < endMs);
    if (!next || mayBeRetried(story, begin.atMs, next.atMs) || isForgotten(story, begin)) return undefined;
    return {
      text: `attempt ${next.attempt} begins on ${next.machine} while ${begin.attempt} runs on ${begin.machine}`,
    };
  });
};

/**
 * A job that runs before it is stored is known to its replica only. If that replica dies, loses the database or its
 * facade's stream, the job is sent to another one, which stores it, and its first attempt runs anew. A job that was
 * sent to one replica only never does.
 */
function isForgotten({ acknowledged }: Story, { attempt }: Started): boolean {
  return attempt === 1 && acknowledged.some(({ sentTo }) => new Set(sentTo).size > 1);
}

/** No attempt follows the one that ended the job. */
export const noLaterAttempt: StoryRule = (story) =>
  story.seen.filter(isEnd).map(({ state, attempt, fromMs }) => {
    if (attempt < 0) return undefined;
    const later = story.started.find((begin) => begin.attempt > attempt);
    if (!later || mayBeRetried(story, 0, Math.max(later.atMs, fromMs))) return undefined;
    if (isForgotten(story, later) || isMadeAnew(story, 0, Infinity)) return undefined;
    return { text: `is ${state} at attempt ${attempt}, and attempt ${later.attempt} has run` };
  });

/** An outcome that core has acknowledged is recorded: the job does not run again for it. */
export const deliveredOnce: StoryRule = (story) =>
  story.delivered.map(({ attempt, atMs }) => {
    const begin = story.started.findLast((one) => one.attempt === attempt && one.atMs <= atMs)!;
    // A greater attempt from before is one of the job's earlier life.
    const later = story.started.find((one) => one.attempt > attempt && one.atMs > begin.atMs);
    if (!later || mayBeRetried(story, begin.atMs, later.atMs) || isForgotten(story, begin)) return undefined;
    if (isMadeAnew(story, atMs, later.atMs)) return undefined;
    return { text: `runs as attempt ${later.attempt} after the outcome of ${attempt} was acknowledged at ${atMs}` };
  });

/** An attempt runs once, and none after a later one, unless the job was deleted and then submitted again. */
export const onceAnAttempt: StoryRule = (story) =>
  story.started.map((begin, index) => {
    const again = story.started.slice(index + 1).find(({ attempt }) => attempt <= begin.attempt);
    const isNew = again && (again.atMs >= mayBeGoneAtMs(story) || mayHave(story, ['purge'], begin.atMs, again.atMs));
    return again && !isNew && !isForgotten(story, again)
      ? { text: `attempt ${begin.attempt} runs on ${begin.machine}, then attempt ${again.attempt} on ${again.machine}` }
      : undefined;
  });

/** An attempt that core has stopped is not sent any more: nothing would end it. */
export const nothingAfterItsStop: StoryRule = (story) =>
  story.sentLate.map(({ attempt, machine, atMs }) =>
    isMadeAnew(story, 0, atMs) ? undefined : { text: `attempt ${attempt} is sent to ${machine} after its stop` },
  );

/** A reader gets every piece of an attempt once, in order. */
export const streams: StoryRule = (story) =>
  [...Map.groupBy(story.streamed, ({ reader }) => reader).values()].flatMap((pages) => [
    ...pages.map((page) => faultOf(page, story)),
    lastFault(pages, story),
  ]);

function faultOf({ after, chunks }: Streamed, { started }: Story) {
  let { attempt, number } = after;
  let lastToken: string | undefined;
  for (const chunk of chunks) {
    const isNext = chunk.attempt === attempt ? chunk.number === number + 1 : chunk.number === 1;
    if (chunk.attempt < attempt || !isNext)
      return { text: `piece ${chunk.attempt}/${chunk.number} follows ${attempt}/${number}` };
    const token = tokenOf(chunk.text);
    // A job that was submitted again after its ttl or a purge starts at attempt 1.
    const isTrue = started.some((begin) => begin.attempt === chunk.attempt && begin.token === token);
    const isOther = chunk.attempt === attempt && lastToken !== undefined && token !== lastToken;
    if (!isTrue || isOther || chunk.text !== JSON.stringify({ token, number: chunk.number }))
      return { text: `piece ${chunk.attempt}/${chunk.number} is ${chunk.text}` };
    ({ attempt, number } = chunk);
    lastToken = token;
  }
  return undefined;
}

function lastFault(pages: readonly Streamed[], story: Story) {
  const end = story.seen.find(isEnd);
  const last = pages.find(({ isLast }) => isLast);
  if (!last || end?.state !== 'COMPLETED') return undefined;
  const by = story.ended.find(({ attempt, how }) => attempt === end.attempt && how === 'COMPLETED');
  const whole = by?.chunks ?? 0;
  const read = pages.flatMap(({ chunks }) => chunks).filter(({ attempt }) => attempt === end.attempt).length;
  return read === whole ? undefined : { text: `${whole} pieces were streamed, and a reader got ${read}` };
}

/** Each outcome that is announced is, and nothing that is none. */
export const webhooks: StoryRule = (story) => {
  const { called, ended, acknowledged, seen } = story;
  const untrue = called.map(({ state, output, atMs }) => {
    if (!ANNOUNCED_STATES.includes(state)) return { text: `its webhook says ${state}` };
    if (state !== 'COMPLETED') return undefined;
    const end = ended.find(({ token }) => token === tokenOf(output));
    return end && end.atMs <= atMs ? undefined : { text: `its webhook comes before its outcome ${output}` };
  });
  const last = seen.at(-1);
  const isDue = acknowledged.some(({ webhook }) => webhook) && last?.state && ANNOUNCED_STATES.includes(last.state);
  const isMissing = isDue && !called.some(({ state }) => state === last.state);
  return isMissing ? [...untrue, { text: `is ${last.state}, and no webhook came` }] : untrue;
};
