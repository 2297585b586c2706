/**
 * Long lists: a list that has begun is finished; one that must wait too long is rejected before its first byte. The
 * whole way is in test/spec/jobs/large-lists.test.ts.
 */
import type { AddressInfo } from 'node:net';
import { handleErrors, restErrorShape } from '@slipway/facades/plugins/errors/error-handler';
import { AnswerBudget } from '@slipway/facades/plugins/limits/answer-budget';
import { addRequestState } from '@slipway/facades/plugins/request-state';
import { ListQueue } from '@slipway/facades/rest/list-queue';
import { sendList } from '@slipway/facades/rest/send-list';
import { MemoryBudget } from '@slipway/kit/bytes/memory-budget';
import { createLogger } from '@slipway/kit/log/logger';
import { fastify } from 'fastify';
import type { Test } from 'tap';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const WAIT_MS = 20_000;

/** Lists of three pages, of which the test lets each one but the first come. */
async function setup(t: Test) {
  const clock = new ManualClock();
  const budget = new MemoryBudget({ bytesMax: 2 ** 30, ownerBytesMax: 2 ** 30 });
  const rests: [string, number][] = [];
  const parts = {
    answers: new AnswerBudget({ budget, idleMs: 60_000, clock }),
    queue: new ListQueue(clock),
    rest: async (...rest: [string, number]) => {
      rests.push(rest);
    },
    clock,
  };
  const app = fastify({ forceCloseConnections: true });
  addRequestState(app);
  handleErrors(app, restErrorShape, createLogger('test', 'silent'));
  app.addHook('onRequest', async (request) => {
    request.caller = { apiKey: 'key', accountId: String(request.headers['account'] ?? 'a'), workersRunning: 0 };
  });
  let firsts = 0;
  const pages: (() => void)[] = [];
  app.get('/long', async (request, reply) =>
    sendList(parts, request, reply, {
      read: async ({ pageToken }) => {
        if (pageToken === '') firsts += 1;
        else
          await new Promise<void>((resolve) => {
            pages.push(resolve);
          });
        return { nextPageToken: pageToken === '' ? '1' : pageToken === '1' ? '2' : '' };
      },
      present: ({ nextPageToken }) => [nextPageToken],
    }),
  );
  app.get('/short', async (request, reply) =>
    sendList(parts, request, reply, { read: async () => ({ nextPageToken: '' }), present: () => ['all'] }),
  );
  await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => app.close());
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const list = async (account = 'a', path = '/long') => {
    const answer = await fetch(url + path, { headers: { account } });
    return [answer.status, answer.status === 200 ? await answer.json() : answer.headers.get('retry-after')];
  };
  return { clock, list, pages, rests, firsts: () => firsts };
}

const WHOLE = [200, ['1', '2', '']];

t.test('two large lists of an account are written at a time; short ones and other accounts do not wait', async (t) => {
  const { list, pages, firsts } = await setup(t);
  const lists = Array.from({ length: 6 }, () => list());
  await waitFor('all first pages', () => firsts() === 6);
  await waitFor('the second pages of two', () => pages.length === 2);
  t.same(await list('a', '/short'), [200, ['all']]);
  const other = list('b');
  await waitFor('its second page', () => pages.length === 3);
  let ended = 0;
  for (const one of [...lists, other])
    void one.then(() => {
      ended += 1;
    });
  await waitFor('all of them', () => {
    t.ok(pages.length <= 3);
    for (const go of pages.splice(0)) go();
    return ended === 7;
  });
  for (const one of [...lists, other]) t.same(await one, WHOLE);
  t.equal(firsts(), 11, 'those that waited read their first page again');
});

t.test('a list without a turn in time is refused before the first byte; a begun one completes', async (t) => {
  const { clock, list, pages } = await setup(t);
  const lists = Array.from({ length: 5 }, () => list());
  let refused = 0;
  for (const one of lists)
    void one.then(() => {
      refused += 1;
    });
  await waitFor('the second pages of two', () => pages.length === 2);
  await waitFor('the others to be refused', () => {
    clock.pass(WAIT_MS);
    return refused === 3;
  });
  await waitFor('the end', () => {
    for (const go of pages.splice(0)) go();
    return refused === 5;
  });
  const answers = await Promise.all(lists);
  t.equal(answers.filter(([status]) => status === 200).length, 2);
  for (const answer of answers) t.same(answer, answer[0] === 200 ? WHOLE : [429, '5']);
});

t.test('between two pages an account rests for as long as the first of them took', async (t) => {
  const { clock, list, pages, rests } = await setup(t);
  const whole = list();
  for (const ms of [30, 70]) {
    await waitFor('a page', () => pages.length === 1);
    clock.pass(ms);
    pages.pop()!();
  }
  t.same(await whole, WHOLE);
  t.same(rests, [
    ['a', 0],
    ['a', 30],
  ]);
});
