/** local.env is read by shells: all values must arrive unchanged, and no other user may read the file. */
import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { removeLocalEnv, shellQuote, writeLocalEnv } from '@slipway/dev/local-env';
import t from 'tap';
import { scratch } from '../helpers/scratch.ts';
import { readFacts } from '../helpers/system/launcher.ts';

t.test('a shell reads what was written', async (t) => {
  const file = (await scratch(t)).path('local.env');
  const exampleInput = JSON.stringify({ input: { text: `it's "$HOME" \`id\` \\ !  $(id)\ttab`, umlaut: 'ü' } });
  const facts = {
    url: 'http://127.0.0.1:8080',
    apiKey: 'k-1',
    endpointId: 'abc',
    coreAddress: '127.0.0.1:1',
    exampleInput,
  };
  writeLocalEnv(file, facts);
  t.equal(statSync(file).mode & 0o777, 0o600);
  t.match(readFacts(file), {
    SLIPWAY_URL: facts.url,
    SLIPWAY_API_KEY: 'k-1',
    SLIPWAY_ENDPOINT_ID: 'abc',
    SLIPWAY_CORE_ADDRESS: '127.0.0.1:1',
    SLIPWAY_EXAMPLE_INPUT: exampleInput,
  });
  removeLocalEnv(file);
  removeLocalEnv(file);
  t.notOk(existsSync(file));
});

t.test('quoting', async (t) => {
  for (const text of ['', "'", "''", 'a b', '$x', '\\', '\n', '-n', '"']) {
    t.equal(
      execFileSync('/bin/sh', ['-c', `printf %s ${shellQuote(text)}`], { encoding: 'utf8' }),
      text,
      JSON.stringify(text),
    );
  }
});
