/** Pairs that a list of jobs is filtered by: none of them may get lost, which would find jobs that were not meant. */
import { metadataFilter } from '@slipway/facades/jobs/query-metadata';
import t from 'tap';
import { reasonOf } from '../reason-of.ts';

t.test('pairs', async (t) => {
  t.equal(metadataFilter({}), undefined);
  t.same(metadataFilter({ metadata: 'order:10:42' }), { pairs: { order: '10:42' } });
  t.same(metadataFilter({ metadata: ['a:1', 'b:'] }), { pairs: { a: '1', b: '' } });
});

t.test('pairs that cannot all be searched for', async (t) => {
  for (const metadata of ['a', ':a', ['a:1', 'a:2'], ['a:1', 'a:1'], '__proto__:v', ['a:1', '__proto__:v']])
    t.equal(
      reasonOf(() => metadataFilter({ metadata })),
      'INVALID_REQUEST',
      JSON.stringify(metadata),
    );
});
