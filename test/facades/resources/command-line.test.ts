/**
 * Commands as one text (docs/reference/management.md#templates): words as a shell divides them, nothing replaced, and
 * back.
 */
import { execFileSync } from 'node:child_process';
import { commandOf, commandText, dockerArgsOf } from '@slipway/facades/resources/command-line';
import t from 'tap';

const CASES: [text: string, words: string[]][] = [
  ['', []],
  ['  python  -u\thandler.py\n', ['python', '-u', 'handler.py']],
  [
    'bash -c "python main.py --port ${PORT:-8000} --dir ${HOME}/data"',
    ['bash', '-c', 'python main.py --port ${PORT:-8000} --dir ${HOME}/data'],
  ],
  [
    'python app.py --ui http://h/#/home --color #fff',
    ['python', 'app.py', '--ui', 'http://h/#/home', '--color', '#fff'],
  ],
  ['bash -c "echo $$ $? done" && x | y > z', ['bash', '-c', 'echo $$ $? done', '&&', 'x', '|', 'y', '>', 'z']],
  [String.raw`a\ b "c\"d\e" 'f\g' h""i ''`, ['a b', String.raw`c"d\e`, String.raw`f\g`, 'hi', '']],
  ['x ${', ['x', '${']],
];

/** Characters with a special meaning in some shell. */
const ALPHABET = [...'ab1 \t\n\'"\\$`!#~;&|<>(){}[]*?=^é😀'];

t.test('texts and their words', async (t) => {
  for (const [text, words] of CASES) t.same(commandOf('dockerArgs', text), words, text);
  for (const text of ["it's", '"open', 'a\\'])
    t.throws(() => commandOf('dockerArgs', text), { message: /^dockerArgs: a quote is not closed/ }, text);
  t.equal(
    commandText(['python', '-c', "print('hello!')", '', 'http://h/?a=b']),
    String.raw`python -c 'print('\''hello!'\'')' '' 'http://h/?a=b'`,
  );
});

t.test('the form with an entry point', async (t) => {
  t.same(dockerArgsOf('{"cmd":["a b"],"entrypoint":["sh","-c"]}'), { startCommand: ['a b'], entrypoint: ['sh', '-c'] });
  t.same(dockerArgsOf(' { "entrypoint": ["x"] } '), { startCommand: [], entrypoint: ['x'] });
  t.same(dockerArgsOf('{"cmd":["a"]}'), { startCommand: ['a'], entrypoint: undefined });
  for (const text of ['{"cmd":"a"}', '{"cmd":[1]}', '{"cmd":["a"],"user":"b"}', '{"cmd":["a"]} b', '{"model":"m"}']) {
    t.same(
      dockerArgsOf(text),
      { startCommand: commandOf('dockerArgs', text), entrypoint: undefined },
      `words: ${text}`,
    );
  }
});

t.test('a command comes back as it was, and a shell reads it alike', async (t) => {
  let seed = 1;
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((seed / 2 ** 31) * below);
  };
  const wordOf = (): string => Array.from({ length: random(7) }, () => ALPHABET[random(ALPHABET.length)]!).join('');
  const commands = Array.from({ length: 5_000 }, () => Array.from({ length: random(5) }, wordOf));
  const wrong = commands.filter(
    (words) => JSON.stringify(commandOf('dockerArgs', commandText(words))) !== JSON.stringify(words),
  );
  t.same(wrong, []);
  const some = commands.slice(0, 200);
  const script = some.map((words) => `printf '%s\\0' ${words.length} ${commandText(words)}`).join('\n');
  const heard = execFileSync('sh', ['-c', script]).toString().split('\0').slice(0, -1);
  t.same(
    heard,
    some.flatMap((words) => [String(words.length), ...words]),
  );
});
