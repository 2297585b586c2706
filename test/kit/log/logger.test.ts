/** The log: secrets never reach it, whatever object is passed; no object stops the process or makes a long line. */

import { createLogger, someAttempts } from '@slipway/kit/log/logger';
import { DrizzleQueryError } from 'drizzle-orm';
import t from 'tap';
import { seededRandom } from '../../helpers/time/seeded-random.ts';

const LINE_LENGTH_MAX = 2_000_000;
const lines: string[] = [];
const logger = createLogger('test', 'trace', {
  write: (line: string) => {
    lines.push(line);
  },
});
const logged = (fields: object, message = 'said'): string => {
  lines.length = 0;
  // Lines of this level are not bounded in number.
  logger.debug(fields, message);
  return lines.join('');
};
const random = seededRandom();

const WORDS = [
  ['api', 'key'],
  ['authorization'],
  ['proxy', 'authorization'],
  ['cookie'],
  ['set', 'cookie'],
  ['token'],
  ['join', 'token'],
  ['access', 'token'],
  ['webhook', 'secret'],
  ['secret', 'access', 'key'],
  ['access', 'key', 'id'],
  ['password'],
  ['registry', 'password'],
  ['s3', 'config'],
  ['client', 'secret'],
  ['private', 'key'],
  ['x', 'api', 'key'],
  ['env'],
  ['webhook'],
  ['credentials'],
  ['edge', 'key'],
  ['session', 'key'],
];
const SPELLINGS: ((words: string[]) => string)[] = [
  (words) => words.join('_'),
  (words) => words.join('-'),
  (words) => words.join(''),
  (words) => words.join('_').toUpperCase(),
  (words) => words.map((word, place) => (place === 0 ? word : word[0]!.toUpperCase() + word.slice(1))).join(''),
  (words) => words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('-'),
];
const SECRET = 'hunter2-4711';
/** A secret beneath its name, in one of the shapes that libraries have for headers and settings. */
const SHAPES: ((name: string) => unknown)[] = [
  (name) => ({ [name]: SECRET }),
  (name) => ({ [name]: [SECRET] }),
  (name) => ({ [name]: { value: SECRET } }),
  (name) => [name, SECRET],
  (name) => [[name, SECRET]],
  (name) => new Map([[name, SECRET]]),
  (name) => Object.assign(new Error('failed'), { [name]: SECRET }),
  () => `https://hooks.example/x?key=${SECRET}`,
  () => new URL(`https://user:${SECRET}@hooks.example/x`),
  () => `got Bearer ${SECRET}.`,
  () => new Error(`no answer of https://hooks.example/x?token=${SECRET}`),
  () => Buffer.from(SECRET),
];
const WRAPS: ((value: unknown) => unknown)[] = [
  (value) => ({ headers: value }),
  (value) => [value],
  (value) => new Map([['request', value]]),
  (value) => ({ err: value }),
  (value) => new Error('outer', { cause: value }),
  (value) => new Set([value]),
];

t.test('the time is ISO 8601 in UTC', async (t) => {
  const { time } = JSON.parse(logged({})) as { time: string };
  t.equal(new Date(time).toISOString(), time);
});

t.test('no line has a secret, in any spelling and position', async (t) => {
  for (let round = 0; round < 3_000; round += 1) {
    const name = random.one(SPELLINGS)(random.one(WORDS));
    let value = random.one(SHAPES)(name);
    for (let depth = random.below(10); depth > 0; depth -= 1) value = random.one(WRAPS)(value);
    const line = logged({ options: value, jobId: 'job-1' });
    if (line.includes(SECRET) || !line.includes('"jobId":"job-1"')) t.fail(`${name}: ${line}`);
  }
  t.notOk(logged(new Error(`https://hooks.example/?sig=${SECRET}`)).includes(SECRET));
  t.notOk(logged({}, `said by https://hooks.example/?sig=${SECRET}`).includes(SECRET));
});

t.test('passwords are masked in truncated addresses, and with an @ in them', async (t) => {
  for (let before = 8_100; before < 8_192; before += 7) {
    const line = logged({ text: `${'z'.repeat(before)} postgres://user:${SECRET}${SECRET}@db.example/x` });
    if (line.includes('hunter')) t.fail(`after ${before} characters: ${line.slice(-200)}`);
  }
  t.match(logged({ text: `postgres://user:${SECRET}@${SECRET}@db.example/x` }), 'postgres://[secret]@db.example/x');
});

t.test('a failed statement is logged without its values', async (t) => {
  const failed = new DrizzleQueryError(
    'insert into template values ($1)',
    ['lines\nof', SECRET],
    new Error('connect ECONNREFUSED'),
  );
  const line = logged({ err: new Error('not stored', { cause: failed }) });
  t.notOk(line.includes(SECRET), line);
  const { cause } = JSON.parse(line).err;
  t.match(cause, {
    message: 'Failed query: insert into template values ($1)',
    query: /insert into/,
    stack: /logger\.test/,
    cause: { message: 'connect ECONNREFUSED' },
  });
});

t.test('an AggregateError is logged with all its errors', async (t) => {
  const { err } = JSON.parse(
    logged({ err: new AggregateError([new Error('no way to ::1'), new Error('no way to 127.0.0.1')], '') }),
  );
  t.match(err, { type: 'AggregateError', errors: [{ message: 'no way to ::1' }, { message: 'no way to 127.0.0.1' }] });
});

t.test('other values stay', async (t) => {
  const fields = {
    jobId: 'j',
    endpointId: 'e',
    attempt: 2,
    tokens: 20,
    registryAuthId: 'r',
    url: 'https://hooks.example/x',
    headers: { accept: '*/*' },
  };
  t.match(JSON.parse(logged(fields)), { ...fields, msg: 'said', level: 20, name: 'test', pid: process.pid });
  t.match(JSON.parse(logged({ err: new TypeError('no', { cause: new Error('why') }) })), {
    err: { type: 'TypeError', message: 'no', stack: /logger\.test/, cause: { message: 'why' } },
  });
});

t.test('no object stops the process or makes a long line', async (t) => {
  const cyclic: Record<string, unknown> = { jobId: 'job-1' };
  cyclic['self'] = { again: [cyclic] };
  let deep: unknown = 'end';
  for (let depth = 0; depth < 100_000; depth += 1) deep = { deep };
  const wide = Array.from({ length: 1_000 }, () => Array.from({ length: 1_000 }, () => 'x'.repeat(100)));
  const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, place) => [`m${place}`, place]));
  const throwing = Object.defineProperty({}, 'bad', {
    enumerable: true,
    get: () => {
      throw new Error('no');
    },
  });
  const proxy = new Proxy(
    {},
    {
      ownKeys: () => {
        throw new Error('no');
      },
      getPrototypeOf: () => {
        throw new Error('no');
      },
    },
  );
  const nasty = {
    cyclic,
    deep,
    wide,
    many,
    throwing,
    proxy,
    err: Object.assign(new Error('x'.repeat(1e6)), { cause: throwing }),
    big: 10n ** 400n,
    none: undefined,
    call: () => 1,
    toJSON: () => {
      throw new Error('no');
    },
    slashes: '://'.repeat(1e6),
    stars: 'bearer '.repeat(1e6),
    at: `://${'a'.repeat(1e6)}`,
  };
  for (const [name, value] of [...Object.entries(nasty), ['all', nasty]] as [string, unknown][]) {
    const line = logged({ [name]: value });
    t.ok(line.length < LINE_LENGTH_MAX, `${name}: ${line.length} characters`);
    t.equal(JSON.parse(line).msg, 'said', name);
  }
  t.equal(JSON.parse(logged(proxy)).msg, 'said');
});

t.test('lines about many attempts name the first ones', async (t) => {
  const attempts = Array.from({ length: 1_000 }, (_, place) => ({
    endpointId: 'e',
    jobId: `j${place}`,
    attempt: 1,
    machineId: 'm',
    input: SECRET,
  }));
  const line = JSON.parse(logged(someAttempts(attempts)));
  t.equal(line.count, 1_000);
  t.equal(line.attempts.length, 20);
  t.same(line.attempts[19], { endpointId: 'e', jobId: 'j19', attempt: 1, machineId: 'm' });
});
