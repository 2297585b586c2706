// test: alone, postgres
/**
 * SLIPWAY_GRAPHQL_AT_START: what GraphQL needs is loaded at a facade's start, or by the first request for it and not
 * before.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import t from 'tap';
import { startSystem } from '../../helpers/system/system.ts';

const root = join(import.meta.dirname, '../../..');
const MESH = 'facades/graphql/.mesh/index.mjs';
/** Says to the parent what was loaded. */
const TELL = `import { registerHooks } from 'node:module';
registerHooks({ load: (url, context, next) => { if (url.endsWith('${MESH}')) process.send({ loaded: url }); return next(url, context); } });`;

t.test('at the start by default', async (t) => {
  const child = fork(join(root, 'facades/main.ts'), [], {
    cwd: root,
    execArgv: ['--import', `data:text/javascript,${encodeURIComponent(TELL)}`],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {
      ...process.env,
      SLIPWAY_CORE_ADDRESS: '127.0.0.1:1',
      SLIPWAY_HTTP_HOST: '127.0.0.1',
      SLIPWAY_HTTP_PORT: '0',
    },
  });
  const ended = once(child, 'exit');
  t.teardown(async () => {
    child.kill();
    await ended;
  });
  const told = await new Promise<string>((resolve) => {
    child.on('message', (message: { loaded?: string }) => {
      if (message.loaded !== undefined) resolve(message.loaded);
    });
    void ended.then(() => resolve('it ended'));
  });
  t.ok(told.endsWith(MESH), told);
});

t.test('by the first request', async (t) => {
  const loaded: string[] = [];
  const hooks = registerHooks({
    load: (url, context, next) => {
      if (url.endsWith(MESH)) loaded.push(url);
      return next(url, context);
    },
  });
  t.teardown(() => hooks.deregister());
  const system = await startSystem(t, { agents: 0, facadeEnv: { SLIPWAY_GRAPHQL_AT_START: 'false' } });
  t.equal((await system.request('GET', '/v1/endpoints')).status, 200);
  t.same(loaded, [], 'nothing before');
  const answer = await system.request('POST', '/graphql', { query: '{ myself { id } }' });
  t.match(answer, { status: 200, json: { data: { myself: { id: system.accountId } } } });
  t.equal(loaded.length, 1);
});
