// test: alone
/** Errors are grouped by their text without numbers and ids, however long and odd they are. */

import {
  ERROR_HEAD,
  ERROR_TAIL,
  ERROR_WHOLE_MAX,
  ErrorGroups,
  errorGroupId,
  errorParts,
  errorSpanMs,
  errorTextOf,
  readError,
  sharedText,
} from '@slipway/core/domain/jobs/error-groups';
import t from 'tap';

const textOf = (error: string): string => errorTextOf({ state: 'FAILED', error: errorParts(error) }).text;
const sampleOf = (error: string): string => readError(errorParts(error)).sample;
const ofSdk = (message: string, trace = '') =>
  JSON.stringify({ error_type: "<class 'ValueError'>", error_message: message, error_traceback: trace });

t.test('numbers and ids are left out, names are not', async (t) => {
  const alike: [string, string][] = [
    ['CUDA out of memory: 11.25 GiB of 23.9 GiB', 'CUDA out of memory: 3 GiB of 24 GiB'],
    ['no worker x4kq0c2m9w1zpd', 'no worker a8f3k2b7c9d1e0'],
    ['job 550e8400-e29b-41d4-a716-446655440000-u1 is gone', 'job 6ba7b810-9dad-11d1-80b4-00c04fd430c8-u1 is gone'],
    ['commit 9fceb02d0ae598e9 of main', 'commit deadbeefdeadbeef of main'],
    ['10.0.0.1:8080 refused at 12:30:01', '10.1.22.3:443 refused at 1:2:3'],
    ['<Tensor at 0x7f3a2b>', '<Tensor at 0x1>'],
    ['\u001b[31mred 1\u001b[0m', 'red 2'],
  ];
  for (const [one, other] of alike) t.equal(sharedText(one), sharedText(other), sharedText(one));
  t.equal(sharedText('CUDA out of memory: 11.25 GiB of 23.9 GiB'), 'CUDA out of memory: # GiB of # GiB');
  const apart: [string, string][] = [
    ['encoder12 is missing', 'tokenizer12 is missing'],
    ['float16 has no such method', 'bfloat16 has no such method'],
    ['KeyError: a', 'KeyError: b'],
  ];
  for (const [one, other] of apart) t.not(sharedText(one), sharedText(other));
});

t.test('what SDKs report: the message groups, the traceback is shown', async (t) => {
  t.equal(textOf(ofSdk('card 3 is too small', 'Traceback: line 7')), "<class 'ValueError'>: card # is too small");
  t.equal(sampleOf(ofSdk('card 3 is too small', 'Traceback: line 7')), 'Traceback: line 7');
  t.equal(sampleOf(ofSdk('card 3 is too small')), "<class 'ValueError'>: card 3 is too small");
  t.equal(textOf('handler: card 11 is too small \ntraceback: Error\n  at line 7'), 'card # is too small');
  t.equal(sampleOf('handler: card 11 is too small \ntraceback: Error\n  at line 7'), 'Error\n  at line 7');
  t.equal(
    textOf('Traceback (most recent call last):\n  File "x.py", line 3\nValueError: no 7\n\n'),
    'ValueError: no #',
    'the last line that says anything',
  );
  t.equal(textOf('{"error_message": 7}'), '{"error_message": #}', 'an object of another kind is a text');
  t.equal(errorTextOf({ state: 'TIMED_OUT', error: undefined }).text, 'TIMED_OUT');
  t.equal(textOf(' \n '), 'FAILED', 'nothing but blanks');
  t.equal(textOf('7'), '#');
});

t.test('long errors are grouped by their beginning and end', async (t) => {
  const long = `${'a line of the log\n'.repeat(60_000)}MemoryError: 12 GB`;
  const { head, tail } = errorParts(long);
  t.same([head.length, tail.length], [ERROR_HEAD, ERROR_TAIL]);
  t.equal(textOf(long), 'MemoryError: # GB');
  t.match(sampleOf(long), /^a line of the log\n[^]*\n…\n[^]*MemoryError: 12 GB$/);
  t.ok(sampleOf(long).length <= 4_096);
  t.equal(
    textOf(ofSdk('card 3 is too small', 'x'.repeat(1_000_000))),
    "<class 'ValueError'>: card # is too small",
    'an object without its end',
  );
  t.equal(textOf(ofSdk('y'.repeat(1_000_000))).length, 500, 'a text without its end');
  t.equal(
    sampleOf(ofSdk(`${'z'.repeat(4_000)}\\u00`, 'x'.repeat(10_000))).startsWith('<class'),
    true,
    'an end within an escape',
  );
  t.equal(errorParts('x'.repeat(ERROR_WHOLE_MAX)).tail, '');
});

t.test('hostile errors cost no more than plain ones of their length', async (t) => {
  const million = 1_000_000;
  const nasty = [
    '1'.repeat(million),
    'a1'.repeat(million),
    '#'.repeat(million),
    '1.'.repeat(million),
    '\u001b['.repeat(million),
    '\\'.repeat(million),
    `{"error_message": "${'\\"'.repeat(million)}`,
    `{"error_message"${' '.repeat(million)}`,
    `handler: ${' '.repeat(million)}`,
    '{'.repeat(million),
    `handler: ${' \n'.repeat(million)}traceback: `,
    '\n'.repeat(million),
    'deadbeef-'.repeat(million),
    '0x'.repeat(million),
    '\ud83d'.repeat(million),
    '\0'.repeat(9_000),
  ];
  const begin = process.cpuUsage();
  for (const error of nasty) {
    const { text, sample } = errorTextOf({ state: 'FAILED', error: errorParts(error) });
    t.ok(
      text.length > 0 && text.length <= 500 && sample.length <= 4_096,
      `${JSON.stringify(error.slice(0, 12))} … ${text.length}, ${sample.length}`,
    );
    // The same for a caller that has not truncated it.
    sharedText(error);
  }
  const { user } = process.cpuUsage(begin);
  t.ok(
    user < 3_000_000,
    `${user / 1_000} ms of processor time; what goes over a text again for each of its characters takes minutes`,
  );
});

t.test('groups: the largest first, with first, last and newest', async (t) => {
  const groups = new ErrorGroups();
  const job = (n: number, message: string) => ({
    id: `j${n}`,
    state: 'FAILED',
    finishedAtMs: n * 1_000,
    error: errorParts(message),
  });
  for (let n = 30; n > 0; n -= 1) groups.add(job(n, n % 3 === 0 ? `disk ${n} is full` : `card ${n} is too small`));
  const {
    groups: [first, second, ...others],
    groupCount,
    jobs,
  } = groups.list();
  t.same([groupCount, jobs, others], [2, 30, []]);
  t.match(first, {
    text: 'card # is too small',
    jobs: 20,
    firstMs: 1_000,
    lastMs: 29_000,
    sample: 'card 29 is too small',
  });
  t.same(first!.jobIds, ['j29', 'j28', 'j26', 'j25', 'j23', 'j22', 'j20', 'j19', 'j17', 'j16']);
  t.match(second, { text: 'disk # is full', jobs: 10, id: errorGroupId('disk # is full') });
  t.match(first!.id, /^[\da-f]{16}$/);
});

t.test('ten thousand errors that have nothing in common', async (t) => {
  const groups = new ErrorGroups();
  const word = (n: number): string => [...String(n)].map((digit) => 'abcdefghij'[Number(digit)]).join('');
  for (let n = 0; n < 10_000; n += 1) {
    const error = errorParts(`${word(n)} ${'x'.repeat(6_000)}`);
    groups.add({ id: `j${n}`, state: 'FAILED', finishedAtMs: n, error });
  }
  const { groups: told, groupCount } = groups.list();
  t.same([told.length, groupCount], [100, 10_000]);
  t.ok(
    told.every(({ sample }) => sample.length === 500),
    'of those that came when a thousand were held only what they share is kept',
  );
});

t.test('spans', async (t) => {
  t.same([errorSpanMs(0), errorSpanMs(60_000), errorSpanMs(604_800_000)], [86_400_000, 60_000, 604_800_000]);
  for (const bad of [59_999, 604_800_001, -1, Number.NaN]) t.throws(() => errorSpanMs(bad), /from 60000 to 604800000/);
});
