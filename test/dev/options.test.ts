/** The options of `npm start`: which are accepted, which are rejected, and with which text. */
import { join } from 'node:path';
import { readOptions, UsageError } from '@slipway/dev/options';
import t from 'tap';

const root = join(import.meta.dirname, '../..');
const read = (...args: string[]) => readOptions(args, { root, callerDir: join(root, 'examples') });

t.test('defaults', async (t) => {
  t.same(read(), {
    port: 8080,
    dataDir: join(root, '.slipway'),
    databaseUrl: undefined,
    agent: true,
    webhooksToPrivate: false,
    quiet: false,
    handlerFile: undefined,
    lb: false,
    metricsPort: undefined,
    joinAddress: undefined,
    restoreFile: undefined,
  });
  t.equal(read('--help'), 'help');
});

t.test('a backup to begin with: a path, or an address in S3', async (t) => {
  t.match(read('--restore', 'a.backup'), { restoreFile: join(root, 'examples/a.backup') });
  t.match(read('--restore', 's3://vault/a.backup'), { restoreFile: 's3://vault/a.backup' });
});

t.test('all of them', async (t) => {
  const given = read(
    '--port',
    '9000',
    '--data-dir',
    'mine',
    '--database-url',
    'postgres://u:p@db:5432/x',
    '--no-agent',
    '--handler',
    'tokens/handler.py',
    '--webhooks-to-private',
    '--quiet',
    '--lb',
    '--metrics',
    '9464',
    '--join-address',
    '10.0.0.1',
  );
  t.same(
    given,
    {
      port: 9000,
      dataDir: join(root, 'examples/mine'),
      databaseUrl: 'postgres://u:p@db:5432/x',
      agent: false,
      webhooksToPrivate: true,
      quiet: true,
      lb: true,
      metricsPort: 9464,
      joinAddress: '10.0.0.1:50052',
      handlerFile: join(root, 'examples/tokens/handler.py'),
    },
    'relative paths start where the user is',
  );
});

t.test('an address to join at', async (t) => {
  for (const [given, address] of [
    ['rack.example:6000', 'rack.example:6000'],
    ['[fd00::1]', '[fd00::1]:50052'],
  ] as const)
    t.match(read('--join-address', given), { joinAddress: address }, given);
});

t.test('a database by file', async (t) => {
  const folder = t.testdir({ url: 'postgres://u:p@db:5432/x\n', odd: 'mysql://u:p@db' });
  t.match(read('--database-url-file', join(folder, 'url')), { databaseUrl: 'postgres://u:p@db:5432/x' });
  t.throws(() => read('--database-url-file', join(folder, 'odd')), {
    constructor: UsageError,
    message: /postgres:\/\/user/,
  });
  t.throws(() => read('--database-url-file', join(folder, 'none')), {
    constructor: UsageError,
    message: /cannot be read: ENOENT/,
  });
});

t.test('mistakes', async (t) => {
  for (const [args, text] of [
    [['--port', '0'], /--port is "0".*1 to 65535/],
    [['--port', '65536'], /--port/],
    [['--port', '80a'], /--port/],
    [['--port', '1e3'], /--port/],
    [['--metrics', '65534'], /--metrics is "65534".*1 to 65533/],
    [['--database-url', 'mysql://x'], /postgres:\/\/user/],
    [['--database-url', '/tmp/pg'], /postgres:\/\/user/],
    [['--join-address', 'https://rack'], /--join-address is "https:.*HOST or HOST:PORT/],
    [['--join-address', 'rack:99999'], /--join-address/],
    [['--join-address', ''], /--join-address/],
    [['--handler', 'nothing.py'], /no handler at .*nothing\.py/],
    [['--handler', 'README.md'], /ends in \.py/],
    [['--prot', '1'], /--prot[\s\S]*Usage: npm start/],
    [['stray'], /stray[\s\S]*Usage: npm start/],
  ] as [string[], RegExp][]) {
    t.throws(() => read(...args), { constructor: UsageError, message: text }, args.join(' '));
  }
});
