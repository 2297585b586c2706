/** Which documents are kept, and for how long. */
import t from 'tap';
import { DocumentCache } from '../../../facades/graphql/document-cache.ts';

t.test('the oldest go when there are too many', async (t) => {
  const cache = new DocumentCache<number>(2, 1_000);
  cache.set('a', 1);
  cache.set('b', 2);
  cache.set('c', 3);
  t.same(['a', 'b', 'c'].map((text) => cache.get(text)), [undefined, 2, 3]);
});

t.test('the oldest go when all together are too long', async (t) => {
  const cache = new DocumentCache<number>(100, 10);
  cache.set('aaaa', 1);
  cache.set('bbbb', 2);
  cache.set('cc', 3);
  t.same(['aaaa', 'bbbb', 'cc'].map((text) => cache.get(text)), [1, 2, 3], 'they just fit');
  cache.set('ddddd', 4);
  t.same(['aaaa', 'bbbb', 'cc', 'ddddd'].map((text) => cache.get(text)), [undefined, undefined, 3, 4]);
});

t.test('one that is too long for all the room is not kept, and nothing goes for it', async (t) => {
  const cache = new DocumentCache<number>(100, 10);
  cache.set('aaaa', 1);
  cache.set('b'.repeat(11), 2);
  t.same([cache.get('aaaa'), cache.get('b'.repeat(11))], [1, undefined]);
});

t.test('the same text again takes its room only once', async (t) => {
  const cache = new DocumentCache<number>(100, 10);
  cache.set('aaaa', 1);
  cache.set('aaaa', 2);
  cache.set('bbbbbb', 3);
  t.same([cache.get('aaaa'), cache.get('bbbbbb')], [2, 3]);
});
