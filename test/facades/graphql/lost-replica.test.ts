// test: postgres
/**
 * A replica of core that goes away in the middle of an answer, on a whole system: reads go on at the other one, changes
 * are made once.
 */

import { buildFacade } from '@slipway/facades/app';
import { readFacadeConfig } from '@slipway/facades/config';
import { createLogger } from '@slipway/kit/log/logger';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import type { Test } from 'tap';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import type { CutKind } from '../../helpers/net/cutting-proxy.ts';
import { cuttingProxy } from '../../helpers/net/cutting-proxy.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { graphqlClient } from './graphql-client.ts';

t.setTimeout(600_000);

const README = 'x'.repeat(200_000);
/** Where an answer is cut: far beyond all that a connection says besides, well within the list of templates. */
const CUT_AT_BYTES = 500_000;
/** More than the facade opens in a test. */
const CONNECTIONS = 50;
const NAMES = Array.from({ length: 6 }, (_, n) => `t${n}`);
const LIST = '{ podTemplates { name readme } }';

const system = await startSystem(t, { agents: 0, cores: 2 });
for (const name of NAMES) {
  const template = Template.fromPartial({ name, imageName: 'i', readme: README });
  await call(system.clients.templates, 'createTemplate', { template }, system.key);
}

/** Starts a facade of two replicas, the first behind a proxy that cuts each connection after so many bytes. */
async function setup(t: Test, kind: CutKind) {
  const [host, port] = system.cores[0]!.address.split(':') as [string, string];
  const proxy = await cuttingProxy(t, { host, port: Number(port) });
  for (let connection = 0; connection < CONNECTIONS; connection += 1) proxy.cutNext(CUT_AT_BYTES, kind);
  const addresses = `127.0.0.1:${proxy.port},${system.cores[1]!.address}`;
  const config = readFacadeConfig({
    SLIPWAY_CORE_ADDRESS: addresses,
    SLIPWAY_HTTP_HOST: '127.0.0.1',
    SLIPWAY_HTTP_PORT: '0',
  });
  const facade = buildFacade(config, { logger: createLogger('test', 'silent') });
  const { url } = await facade.start();
  t.teardown(() => facade.stop());
  return { proxy, graphql: graphqlClient(t, url, system.key) };
}

for (const kind of ['RESET', 'END'] as const) {
  t.test(`a list that is cut (${kind}) is read at the other replica, whole and once`, async (t) => {
    const { proxy, graphql } = await setup(t, kind);
    for (let turn = 0; turn < 4; turn += 1) {
      const { podTemplates } = await graphql.ok<{ podTemplates: { name: string; readme: string }[] }>(LIST);
      t.same(
        podTemplates.map(({ name }) => name),
        NAMES,
      );
      t.ok(
        podTemplates.every(({ readme }) => readme === README),
        'nothing is missing',
      );
    }
    t.ok(proxy.cuts > 0, `${proxy.cuts} reads were cut`);
  });
}

t.test('a change whose answer is cut is made once, and its outcome is not claimed', async (t) => {
  const { proxy, graphql } = await setup(t, 'RESET');
  const change = 'mutation($input: SaveTemplateInput) { saveTemplate(input: $input) { id } }';
  const asked: string[] = [];
  const refused: (string | undefined)[] = [];
  while (proxy.cuts === 0 && asked.length < 4) {
    asked.push(`made ${asked.length}`);
    const { body } = await graphql.post({
      query: change,
      variables: { input: { name: asked.at(-1), imageName: 'i', readme: 'x'.repeat(900_000) } },
    });
    if (body.errors) refused.push(body.errors[0]!.extensions.reason);
  }
  t.same([proxy.cuts, refused], [1, ['UNAVAILABLE']], 'a second try would have met the name that the first one took');
  const { podTemplates } = await graphql.ok<{ podTemplates: { name: string }[] }>('{ podTemplates { name } }');
  t.same(
    podTemplates.map(({ name }) => name),
    [...NAMES, ...asked],
  );
});
