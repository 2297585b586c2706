/** Feeds of the console: how many there are, whose, and when they end. A real server, and sources that say little. */
import { fastify } from 'fastify';
import t from 'tap';
import { systemClock } from '../../../core/runtime/clock.ts';
import { LiveFeeds } from '../../../facades/console/live-feeds.ts';
import { LiveResponse } from '../../../facades/jobs/live-response.ts';
import { waitFor } from '../../helpers/wait-for.ts';

t.test('what is as it was told last is not told again, and the connection is not silent', async (t) => {
  const app = fastify({ forceCloseConnections: true });
  const feeds = new LiveFeeds(systemClock);
  const views: (object | undefined)[] = [{ text: 'one' }, undefined, undefined, { text: 'two' }];
  app.get('/', async (_request, reply) => {
    const source = { read: async () => views.shift(), paceMs: 10 };
    await feeds.follow({ accountId: 'a', apiKey: 'a', page: '' }, () => source, new LiveResponse(reply));
    return reply;
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => {
    feeds.close();
    return app.close();
  });
  const away = new AbortController();
  const { body } = await fetch(url, { signal: away.signal });
  let told = '';
  for await (const piece of body!.pipeThrough(new TextDecoderStream())) {
    told += piece;
    if (told.includes('two')) break;
  }
  away.abort();
  t.equal(told.split('data: ').length - 1, 2, 'each once');
  t.match(told, /one[^]*: keep-alive[^]*two/);
});

t.test('an account has so many feeds, and others have theirs beside', async (t) => {
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
