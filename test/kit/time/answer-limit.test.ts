/** How long to wait for answers: longer while the other side is slow, and as before when it is not. */
import { AnswerLimit } from '@slipway/kit/time/answer-limit';
import t from 'tap';

t.test('it grows with slow and missing answers, and falls again', async (t) => {
  const limit = new AnswerLimit({ firstMs: 5_000, maxMs: 60_000 });
  limit.answered(10);
  t.same([limit.ms, limit.factor], [5_000, 1]);
  limit.missed();
  t.same([limit.ms, limit.factor], [10_000, 2]);
  limit.answered(8_000);
  t.equal(limit.ms, 24_000, 'three times the answer that was slow');
  for (let n = 0; n < 5; n += 1) limit.missed();
  t.equal(limit.ms, 60_000, 'it has a bound');
  let answers = 0;
  for (; limit.factor > 1; answers += 1) limit.answered(10);
  t.equal(answers, 9, 'answers in time bring it back');
});
