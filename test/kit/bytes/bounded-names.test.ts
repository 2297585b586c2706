/**
 * Names of a label: the first have their own, all others share one, and a place that was given up is given to another.
 */

import { BoundedNames, OTHER } from '@slipway/kit/bytes/bounded-names';
import t from 'tap';

t.test('the first keep their name, all others share one', async (t) => {
  const names = new BoundedNames(2);
  t.same(
    ['a', 'b', 'c', 'a', 'd', 'b'].map((name) => names.of(name)),
    ['a', 'b', OTHER, 'a', OTHER, 'b'],
  );
  t.equal(new BoundedNames(0).of('a'), OTHER);
});

t.test('a freed name is given to another', async (t) => {
  const names = new BoundedNames(2);
  for (const name of ['a', 'b', 'c']) names.of(name);
  t.same(names.keep(new Set(['b', 'c'])), ['a'], 'whose series are to go; one without a place has none');
  t.same(names.keep(new Set(['b', 'c'])), [], 'said once');
  t.equal(names.of('c'), 'c', 'it has a name of its own now');
  t.equal(names.of('b'), 'b', 'the others keep theirs');
  t.equal(names.of('a'), OTHER, 'there is no more room');
  t.same(names.keep(new Set()), ['b', 'c']);
});
