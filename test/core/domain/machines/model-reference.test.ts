/** Forms in which an owner names models, and the one in which they are stored. */
import { referenceOf, storedReferences } from '@slipway/core/domain/machines/model-reference';
import t from 'tap';

t.test('all forms mean the same', async (t) => {
  const cases: [given: string, stored: string][] = [
    ['Qwen/Qwen3-0.6B', 'Qwen/Qwen3-0.6B'],
    [' Qwen/Qwen3-0.6B ', 'Qwen/Qwen3-0.6B'],
    ['a/b:main', 'a/b'],
    ['a/b:v1.0', 'a/b:v1.0'],
    ['a/b@v1.0', 'a/b:v1.0'],
    ['a/b:refs/pr/1', 'a/b:refs/pr/1'],
    [`a/b:${'0'.repeat(40)}`, `a/b:${'0'.repeat(40)}`],
    ['https://huggingface.co/a/b', 'a/b'],
    ['https://huggingface.co/a/b/', 'a/b'],
    ['http://www.huggingface.co/a/b', 'a/b'],
    ['https://hf.co/a/b:v1', 'a/b:v1'],
    ['https://huggingface.co/a/b/tree/main', 'a/b'],
    ['https://huggingface.co/a/b/tree/refs/pr/1', 'a/b:refs/pr/1'],
  ];
  for (const [given, stored] of cases) t.same(storedReferences([given]), [stored], given);
  t.same(storedReferences(['b/a', 'a/b:v1', 'a/b']), ['b/a', 'a/b:v1', 'a/b'], 'in their order');
});

t.test('what is none', async (t) => {
  const none = [
    '',
    'gpt2',
    'a/b/c',
    '/b',
    'a/',
    '../b',
    'a/..',
    'a/b..c',
    'a/b--c',
    'a/b.git',
    '.a/b',
    'a/b.',
    'ä/b',
    'a b/c',
    'a/b\0',
    'a/b:',
    'a/b:../x',
    'a/b:x/../y',
    'a/b:-x',
    'a/b:x y',
    'a/b:x/.',
    `a/b:${'x'.repeat(201)}`,
    `a/${'b'.repeat(97)}`,
    'x'.repeat(513),
    'https://huggingface.co/a',
    'https://huggingface.co/datasets/a/b',
    'https://huggingface.co/a/b/blob/main/config.json',
    'https://huggingface.co/a/b?x=1',
    'https://example.com/a/b',
    'file:///a/b',
  ];
  for (const given of none)
    t.throws(() => storedReferences([given]), { reason: 'INVALID_REQUEST', message: /^model_references: / }, given);
  t.throws(() => storedReferences(['a/b', 'https://hf.co/a/b']), { message: 'model_references names one twice' });
  const many = Array.from({ length: 11 }, (_, i) => `a/b${i}`);
  t.throws(() => storedReferences(many), { message: /has 11 entries, but may have 10/ });
});

t.test('its parts', async (t) => {
  t.same(referenceOf('a/b'), { repository: 'a/b', revision: 'main' });
  t.same(referenceOf('a/b:refs/pr/1'), { repository: 'a/b', revision: 'refs/pr/1' });
});
