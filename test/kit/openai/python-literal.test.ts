/** Reads Python's literals without Python. */

import { parsePythonLiteral } from '@slipway/kit/openai/python-literal';
import t from 'tap';

t.test('values as str() writes them', async (t) => {
  const cases: [text: string, value: unknown][] = [
    ['{}', {}],
    ['[]', []],
    ['()', []],
    ['(1,)', [1]],
    ['[1, (2, 3), [4]]', [1, [2, 3], [4]]],
    ['{\'a\': 1, "b": None}', { a: 1, b: null }],
    ['{1: True, False: None}', { 1: true, false: null }],
    ['-1', -1],
    ['1.5', 1.5],
    ['1e+16', 1e16],
    ['1.5e-07', 1.5e-7],
    ['nan', null],
    ['-inf', null],
    ["'it\\'s \"so\"'", 'it\'s "so"'],
    ['"it\'s"', "it's"],
    ["'\\n\\r\\t\\\\'", '\n\r\t\\'],
    ["'\\x00\\xe9\\u20ac\\U0001f98a'", '\0é€🦊'],
    ["{'code': <HTTPStatus.NOT_FOUND: 404>}", { code: 404 }],
    [" { 'a' : 1 , } ", { a: 1 }],
  ];
  for (const [text, value] of cases) t.same(parsePythonLiteral(text), value, text);
  const proto = parsePythonLiteral("{'__proto__': {'code': 404}}") as object;
  t.same(Object.keys(proto), ['__proto__']);
  t.notOk('code' in proto);
});

t.test('anything else is rejected', async (t) => {
  const texts = [
    '',
    ' ',
    '{',
    "{'a'",
    "{'a': ",
    "{'a': 1",
    "{'a' 1}",
    '{[]: 1}',
    '{,}',
    '[,]',
    '[1 2]',
    '[1,,2]',
    '{} {}',
    "'",
    "'a",
    "'\\",
    "'\\q'",
    "'\\x4'",
    "'\\ud8zz'",
    "'\\UFFFFFFFF'",
    'true',
    'null',
    "__import__('os').system('x')",
    "{'a': f()}",
    "b'x'",
    '1+1',
    '<X.Y: 1',
    '<object at 0x1>',
    '12a',
    '--1',
    `${'['.repeat(18)}${']'.repeat(18)}`,
    '['.repeat(100_000),
  ];
  for (const text of texts) t.equal(parsePythonLiteral(text), undefined, text.slice(0, 40));
});

t.test('parsing is linear, and a very long text is skipped', async (t) => {
  const timeOf = (text: string): number => {
    const from = process.hrtime.bigint();
    parsePythonLiteral(text);
    return Number(process.hrtime.bigint() - from) / 1e6;
  };
  const fill = (piece: string, length: number): string => `{'a': ${piece.repeat(length / piece.length)}`;
  for (const piece of ["'", '\\', ' ', '[', '"\'', '1', '1,', '<', "'\\", '(', '{1:', '-', 'a.']) {
    t.ok(timeOf(fill(piece, 120_000)) < 500, `${piece} again and again`);
    t.ok(timeOf(fill(piece, 10_000_000)) < 50, `${piece}, ten million characters`);
  }
});
