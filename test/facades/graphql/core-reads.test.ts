// test: postgres
/**
 * Documents that come again and again, on a whole system: what they read from core, and what they answer to wrong
 * variables.
 */
import { Writable } from 'node:stream';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { pino } from 'pino';
import type { Test } from 'tap';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { graphqlClient } from './graphql-client.ts';

t.setTimeout(600_000);

const TIMES = 40;
const FIELDS: [method: string, field: string][] = [
  ['EndpointService/ListEndpoints', 'endpoints { id }'],
  ['EndpointService/GetEndpoint', 'endpoint(id: "none") { id }'],
  ['PodService/ListPods', 'pods { id }'],
  ['TemplateService/ListTemplates', 'podTemplates { id }'],
  ['RegistryAuthService/ListRegistryAuths', 'containerRegistryCreds { id }'],
  ['VolumeService/ListNetworkVolumes', 'networkVolumes { id }'],
];

/** Starts a system, and returns the methods of the calls that core has answered. */
async function loggingSystem(t: Test) {
  const calls: string[] = [];
  const log = new Writable({
    write(line, _encoding, done) {
      const { msg, method } = JSON.parse(String(line)) as { msg: string; method?: string };
      if (msg === 'call ended' && method !== undefined) calls.push(method);
      done();
    },
  });
  return { system: await startSystem(t, { agents: 0, logger: pino({ level: 'debug' }, log) }), calls };
}

t.test('repeated fields of a document are read once', async (t) => {
  const { system, calls } = await loggingSystem(t);
  const graphql = graphqlClient(t, system.url, system.key);
  for (const [method, field] of FIELDS) {
    const fields = Array.from({ length: TIMES }, (_, n) => `a${n}: ${field}`).join(' ');
    const { status } = await graphql.post({ query: `{ myself { ${fields} } }` });
    t.equal(status, 200);
    const made = await waitFor('the call', async () => calls.filter((call) => call.endsWith(method)).length);
    t.equal(made, 1, method);
  }
});

t.test('documents with long lists take turns, and a waiting one reads its pages again later', async (t) => {
  const { system, calls } = await loggingSystem(t);
  const graphql = graphqlClient(t, system.url, system.key);
  const env = Object.fromEntries(Array.from({ length: 120 }, (_, k) => [`NAME_${k}`, 'x'.repeat(2_000)]));
  const count = 12;
  for (let i = 0; i < count; i += 1) {
    const template = Template.fromPartial({ name: `t${i}`, startCommand: ['true'], serverless: true, env });
    await call(system.clients.templates, 'createTemplate', { template }, system.key);
  }
  const pages = (): number => calls.filter((method) => method.endsWith('TemplateService/ListTemplates')).length;
  const list = async (alias: string, fields = 'env { key value }'): Promise<void> => {
    const data = await graphql.ok<Record<string, { podTemplates: { env?: { value: string }[] }[] }>>(
      `{ ${alias}: myself { podTemplates { ...F } } } fragment F on PodTemplate { ${fields} }`,
    );
    t.equal(data[alias]!.podTemplates.length, count);
    for (const { env: shown } of data[alias]!.podTemplates) t.equal(shown?.[0]?.value, shown && env['NAME_0']);
  };
  await list('short', 'id');
  await waitFor('the call', () => pages() > 0);
  t.equal(pages(), 1, 'variables that the document does not select are not read');
  calls.length = 0;
  await list('alone');
  await waitFor('each page once', () => pages() === count);
  await Promise.all(['a', 'b', 'c', 'd'].map((alias) => list(alias)));
  await waitFor('pages that were read again', () => pages() > 5 * count);
});

t.test("wrong variables are the client's fault however often the document came before", async (t) => {
  const system = await startSystem(t, { agents: 0 });
  const graphql = graphqlClient(t, system.url, system.key);
  const query = 'query Q($id: String!) { pod(input: { podId: $id }) { id } }';
  for (let run = 0; run < 5; run += 1) await graphql.ok(query, { id: 'none' });
  for (const variables of [{ id: 5 }, { id: null }, {}]) {
    const { status, body } = await graphql.post({ query, variables });
    t.equal(status, 400);
    t.match(body, { data: null, errors: [{ message: /^Variable "\$id"/, extensions: { code: 'BAD_USER_INPUT' } }] });
  }
});
