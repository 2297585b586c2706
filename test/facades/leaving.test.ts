/** A facade that stops first lets balancers see that, so that no request meets a closing connection. */
import { buildFacade } from '@slipway/facades/app';
import { readFacadeConfig } from '@slipway/facades/config';
import { createLogger } from '@slipway/kit/log/logger';
import type { Test } from 'tap';
import t from 'tap';

/** Starts a facade without a core. */
async function facade(t: Test) {
  const settings = { SLIPWAY_CORE_ADDRESS: '127.0.0.1:1', SLIPWAY_HTTP_PORT: '0', SLIPWAY_GRAPHQL_AT_START: 'false' };
  const built = buildFacade(readFacadeConfig(settings), { logger: createLogger('test', 'silent') });
  t.teardown(() => built.stop());
  const { url } = await built.start();
  const status = async (path: string): Promise<number> =>
    (await fetch(`${url}${path}`, { headers: { connection: 'close' } })).status;
  return { status, stop: () => built.stop() };
}

t.test('it takes requests for a while after a balancer that asks has seen that it stops', async (t) => {
  const { status, stop } = await facade(t);
  await status('/readyz');
  const stopped = stop();
  t.equal(await status('/readyz'), 503);
  t.equal(await status('/healthz'), 200, 'a new connection is still served');
  await stopped;
  await t.rejects(status('/healthz'));
});

t.test('one that nobody asks stops at once', async (t) => {
  const { status, stop } = await facade(t);
  t.equal(await status('/healthz'), 200);
  const stopped = stop();
  await t.rejects(status('/healthz'), 'no new connection');
  await stopped;
});
