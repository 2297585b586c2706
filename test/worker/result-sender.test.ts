/**
 * How results leave a worker: at once when nothing is under way, together otherwise, and in the older way to an older
 * agent.
 */

import { ResultSender } from 'slipway-worker/result-sender';
import t from 'tap';

/** Returns an agent that answers when the test says so. */
function agent(knowsBatches = true) {
  const open: { kind: string; body: string; answer: PromiseWithResolvers<void> }[] = [];
  const post = async (kind: string, body: string): Promise<void> => {
    const answer = Promise.withResolvers<void>();
    open.push({ kind, body, answer });
    return answer.promise;
  };
  const sender = new ResultSender({
    single: (jobId, body) => post('single', `${jobId}=${body}`),
    batch: async (body) => {
      await post('batch', body);
      return knowsBatches;
    },
  });
  return { open, sender };
}

/** Lets what was resolved go on. */
const settle = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

t.test('two at once, the rest together, and none before it is stored', async (t) => {
  const { open, sender } = agent();
  const safe: string[] = [];
  const send = (id: string): void => {
    void sender.send(id, '{}', false).then(() => safe.push(id));
  };
  for (const id of ['a', 'b', 'c', 'd', 'e']) send(id);
  t.same(
    open.map(({ kind }) => kind),
    ['single', 'single'],
  );
  open[0]!.answer.resolve();
  await settle();
  t.same(safe, ['a']);
  t.same(
    open.slice(2).map(({ kind, body }) => [kind, body]),
    [['batch', 'c 0 2\n{}\nd 0 2\n{}\ne 0 2\n{}\n']],
  );
  open[2]!.answer.resolve();
  await settle();
  t.same(safe, ['a', 'c', 'd', 'e']);
  open[1]!.answer.resolve();
  await settle();
  t.equal(safe.at(-1), 'b');
});

t.test('a large result is sent alone, and a failed request affects only its own', async (t) => {
  const { open, sender } = agent();
  const ends = ['a', 'b', 'c', 'd'].map((id) => sender.send(id, '{}', false).catch((error: Error) => error.message));
  void sender.send('large', `{"output":"${'x'.repeat(20_000)}"}`, false);
  t.same(
    open.map(({ kind, body }) => `${kind} ${body.slice(0, 5)}`),
    ['single a={}', 'single b={}', 'single large'],
  );
  open[0]!.answer.resolve();
  await settle();
  open[3]!.answer.reject(new Error('gone'));
  open[1]!.answer.resolve();
  t.same(await Promise.all(ends), [undefined, undefined, 'gone', 'gone']);
});

t.test('an agent without batches gets results one by one from then on', async (t) => {
  const { open, sender } = agent(false);
  const ends = ['a', 'b', 'c', 'd'].map((id) => sender.send(id, '{}', false));
  open[0]!.answer.resolve();
  await settle();
  open[2]!.answer.resolve();
  await settle();
  t.same(
    open.slice(3).map(({ kind, body }) => `${kind} ${body}`),
    ['single c={}', 'single d={}'],
  );
  for (const { answer } of open) answer.resolve();
  await Promise.all(ends);
  void sender.send('e', '{}', false);
  void sender.send('f', '{}', false);
  void sender.send('g', '{}', false);
  t.same(
    open.slice(5).map(({ kind }) => kind),
    ['single', 'single', 'single'],
  );
});
