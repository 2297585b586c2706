/**
 * Secrets of core and agent by file: which files are accepted, which are rejected, and that no error contains a part of
 * the secret.
 */
import { join } from 'node:path';
import { readCoreConfig } from '@slipway/core/config';
import { readAgentConfig } from '@slipway/gpu-agent/config';
import t from 'tap';

const SECRET_KEY = 'ab'.repeat(32);

t.test('each secret may be read from a file, with or without a final newline', async (t) => {
  const folder = t.testdir({
    url: 'postgres://slipway:pa55word@db:5432/slipway\n',
    root: 'root_0123456789abcdef',
    seal: `${SECRET_KEY}\r\n`,
    agent: 'agent-key\n',
  });
  const file = (name: string): string => join(folder, name);
  const core = readCoreConfig({
    SLIPWAY_DATABASE_URL_FILE: file('url'),
    SLIPWAY_ROOT_KEY_FILE: file('root'),
    SLIPWAY_SECRET_KEY_FILE: file('seal'),
  });
  t.match(core, {
    databaseUrl: 'postgres://slipway:pa55word@db:5432/slipway',
    rootKey: 'root_0123456789abcdef',
    secretKey: SECRET_KEY,
  });
  const agent = readAgentConfig({ SLIPWAY_CORE_ADDRESS: 'core:50051', SLIPWAY_AGENT_KEY_FILE: file('agent') }, false);
  t.equal(agent.key, 'agent-key');
});

t.test('faults', async (t) => {
  const folder = t.testdir({ empty: '\n', seal: `${SECRET_KEY}\n`, odd: 'no hex but secret' });
  const core = (env: Record<string, string>) => (): unknown =>
    readCoreConfig({ SLIPWAY_DATABASE_URL: 'postgres://db/slipway', ...env });
  t.throws(core({}), /SLIPWAY_SECRET_KEY is not set, nor SLIPWAY_SECRET_KEY_FILE/);
  t.throws(
    core({ SLIPWAY_SECRET_KEY_FILE: join(folder, 'missing') }),
    /SLIPWAY_SECRET_KEY_FILE names a file that cannot be read: ENOENT/,
  );
  t.throws(core({ SLIPWAY_SECRET_KEY_FILE: folder }), /cannot be read: EISDIR/);
  t.throws(core({ SLIPWAY_SECRET_KEY_FILE: join(folder, 'empty') }), /which is empty/);
  t.throws(core({ SLIPWAY_SECRET_KEY_FILE: join(folder, 'seal'), SLIPWAY_SECRET_KEY: SECRET_KEY }), /both set/);
  const { message } = t.throws(core({ SLIPWAY_SECRET_KEY_FILE: join(folder, 'odd') })) as Error;
  t.match(message, /must be 64 hex digits/);
  t.notMatch(message, /no hex but secret/);
});
