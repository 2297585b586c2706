/** JSON written in pieces equals JSON.stringify, has many pieces, and stays within the limit. */
import { ANSWER_BYTES_MAX, answerText, isSmallAnswer } from '@slipway/facades/graphql/answer-text';
import { workNow } from '@slipway/kit/bytes/sliced-work';
import t from 'tap';

const ODD = {
  none: null,
  left: undefined,
  list: [undefined, 1, [], {}, [[]], 'a"\\\n\u2028é😀'],
  at: new Date(0),
  nested: { a: { b: [{ c: 1.5, d: false }] }, e: [null, { f: undefined }] },
};
const VALUE = 'x'.repeat(2_000);
const template = { id: 'a', env: Array.from({ length: 120 }, (_, n) => ({ key: `NAME_${n}`, value: VALUE })) };
const aliases = (count: number, templates: number) => ({
  data: Object.fromEntries(
    Array.from({ length: count }, (_, n) => [`a${n}`, { podTemplates: Array(templates).fill(template) }]),
  ),
});

t.test('the text is that of JSON.stringify', async (t) => {
  for (const answer of [{}, { data: null }, { data: ODD }, { data: [ODD, ODD] }, aliases(2, 3)])
    t.equal(Buffer.concat(workNow(answerText(answer))).toString(), JSON.stringify(answer));
});

t.test('a long answer has a turn for every 64 KiB or value', async (t) => {
  const work = answerText(aliases(4, 5));
  let turns = 0;
  let step = work.next();
  for (; !step.done; step = work.next()) turns += 1;
  t.ok(turns >= Math.floor((4 * 5 * 240_000) / (64 * 1024 + 3_000)), `${turns} turns`);
  for (const piece of step.value) t.ok(piece.length < 64 * 1024 + 3_000, `${piece.length} bytes`);
});

t.test('small answers are known as such', async (t) => {
  t.ok(isSmallAnswer({ data: { myself: { endpoints: Array(100).fill({ id: 'a', name: 'b' }) } } }));
  t.notOk(isSmallAnswer({ data: { a: VALUE.repeat(140) } }));
  t.notOk(isSmallAnswer({ data: Array(70_000).fill(1) }));
});

t.test('an answer over the limit is refused before all of it is written', async (t) => {
  const count = Math.ceil(ANSWER_BYTES_MAX / 240_000) + 1_000;
  t.throws(() => workNow(answerText(aliases(1, count))), { message: /more than 64 MiB; ask for less/ });
});
