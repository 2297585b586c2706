/** Feeds of the console: how many there are, whose, and when they end. A real server, and sources that say little. */

import { LiveFeeds } from '@slipway/facades/console/live-feeds';
import { LiveResponse } from '@slipway/facades/jobs/live-response';
import { systemClock } from '@slipway/kit/time/clock';
import { CoreError } from '@slipway/proto/wire/reason';
import { fastify } from 'fastify';
import type { Test } from 'tap';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

/** Returns a feed of `read` under a manual clock, and the events that its only listener has received so far. */
async function followed(t: Test, read: () => Promise<object | undefined>) {
  const app = fastify({ forceCloseConnections: true });
  const clock = new ManualClock();
  const feeds = new LiveFeeds(clock);
  app.get('/', async (_request, reply) => {
    await feeds.follow({ accountId: 'a', apiKey: 'a', page: '' }, () => ({ read }), new LiveResponse(reply));
    return reply;
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => {
    feeds.close();
    return app.close();
  });
  const { body } = await fetch(url);
  const sent: string[] = [];
  void (async () => {
    for await (const piece of body!.pipeThrough(new TextDecoderStream()))
      sent.push(...piece.split('\n\n').filter((event) => event !== ''));
  })().catch(() => undefined);
  return { clock, sent };
}

const BEAT = 'event: beat\ndata: {}';

t.test('an unchanged view is not sent again, and heartbeats come on time, however long reads take', async (t) => {
  let reads = 0;
  let next: () => Promise<object | undefined> = async () => ({ text: 'one' });
  const { clock, sent } = await followed(t, () => {
    reads += 1;
    return next();
  });
  const views = () => sent.filter((event) => !event.startsWith('event: '));
  const beats = () => sent.filter((event) => event === BEAT).length;
  /** Lets seconds pass, each once the events due in the previous one have been delivered. */
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      clock.pass(1_000);
      const due = Math.floor((clock.nowMs() - 1_000) / 5_000);
      await waitFor(`${due} beats`, () => beats() >= due);
    }
  };
  await waitFor('a view', () => views().length === 1);
  next = async () => undefined;
  await pass(20);
  t.ok(reads > 3, `read again and again: ${reads} times`);
  t.equal(beats(), 4);
  next = () => new Promise(() => undefined);
  const before = reads;
  await pass(20);
  t.equal(reads, before + 1, 'a read does not end');
  t.equal(beats(), 8, 'as before');
  t.same(views(), ['data: {"text":"one"}'], 'once');
  t.equal(sent.filter((event) => event.startsWith('event: away')).length, 1, 'that it is away too');
});

t.test('a slow read is shown as unavailable until its result, and a failed one is soon retried', async (t) => {
  const reads: PromiseWithResolvers<object | undefined>[] = [];
  const { clock, sent } = await followed(t, () => {
    reads.push(Promise.withResolvers());
    return reads.at(-1)!.promise;
  });
  const toBeTold = (count: number, what: RegExp) =>
    waitFor(String(what), () => {
      const words = sent.filter((event) => event !== BEAT);
      return words.length === count && what.test(words.at(-1)!);
    });
  /** Lets time pass until it reads again; answers how many milliseconds that took, to the next second. */
  const pause = async (): Promise<number> => {
    const [before, fromMs] = [reads.length, clock.nowMs()];
    await waitFor('the next read', () => reads.length > before || (clock.pass(1_000), false));
    return clock.nowMs() - fromMs;
  };
  const late = /^event: away\ndata: \{"error":"The service does not answer\. /;

  await waitFor('a read', () => reads.length === 1);
  reads[0]!.resolve({ text: 'one' });
  await toBeTold(1, /^data: .*one/);
  await pause();
  clock.pass(4_000);
  await toBeTold(2, late);
  reads[1]!.resolve(undefined);
  await toBeTold(3, /^data: .*one/);
  t.ok((await pause()) >= 16_000, 'what is slow is read seldom');
  clock.pass(4_000);
  await toBeTold(4, late);
  clock.pass(12_000);
  reads[2]!.reject(new CoreError('UNAVAILABLE', 'away'));
  await toBeTold(5, /^event: away\ndata: \{"error":"The service is not reachable/);
  t.ok((await pause()) < 8_000, 'not four times as long as it took');
  clock.pass(4_000);
  reads[3]!.resolve({ text: 'two' });
  await toBeTold(6, /^data: .*two/);
});

t.test('feeds are bounded per account', async (t) => {
  const app = fastify({ forceCloseConnections: true });
  const feeds = new LiveFeeds(systemClock);
  const reading = new Set<string>();
  app.get('/:accountId/:page', async (request, reply) => {
    const { accountId, page } = request.params as { accountId: string; page: string };
    const read = async (signal: AbortSignal): Promise<object> => {
      reading.add(page);
      signal.addEventListener('abort', () => reading.delete(page), { once: true });
      return {};
    };
    await feeds.follow({ accountId, apiKey: accountId, page }, () => ({ read }), new LiveResponse(reply));
    return reply;
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => {
    feeds.close();
    return app.close();
  });
  const away = new AbortController();
  const open = async (path: string): Promise<number> => (await fetch(`${url}/${path}`, { signal: away.signal })).status;
  for (let page = 0; page < 50; page += 1) t.equal(await open(`a/${page}`), 200);
  t.equal(await open('a/0'), 200, 'one more that looks at the same');
  t.equal(await open('a/50'), 500, 'refused');
  t.equal(await open('b/51'), 200, 'of another account');
  t.equal(reading.size, 51);
  away.abort();
  await waitFor('nothing to be read for nobody', () => reading.size === 0);
  t.equal((await fetch(`${url}/a/52`)).status, 200, 'there is room again');
});
