/** How often one document reads from core: aliases must not multiply the work that others wait for. */
import { Writable } from 'node:stream';
import { pino } from 'pino';
import t from 'tap';
import { startSystem } from '../../helpers/system.ts';
import { waitFor } from '../../helpers/wait-for.ts';
import { graphqlClient } from './graphql-client.ts';

t.setTimeout(60_000);

const TIMES = 40;
const FIELDS: [method: string, field: string][] = [
  ['EndpointService/ListEndpoints', 'endpoints { id }'],
  ['EndpointService/GetEndpoint', 'endpoint(id: "none") { id }'],
  ['PodService/ListPods', 'pods { id }'],
  ['TemplateService/ListTemplates', 'podTemplates { id }'],
  ['RegistryAuthService/ListRegistryAuths', 'containerRegistryCreds { id }'],
  ['VolumeService/ListNetworkVolumes', 'networkVolumes { id }'],
];

t.test('what a document asks for many times is read once', async (t) => {
  const calls: string[] = [];
  const log = new Writable({ write(line, _encoding, done) {
    const { msg, method } = JSON.parse(String(line)) as { msg: string; method?: string };
    if (msg === 'call ended' && method !== undefined) calls.push(method);
    done();
  } });
  const system = await startSystem(t, { agents: 0, logger: pino({ level: 'debug' }, log) });
  const graphql = graphqlClient(t, system.url, system.key);
  for (const [method, field] of FIELDS) {
    const fields = Array.from({ length: TIMES }, (_, n) => `a${n}: ${field}`).join(' ');
    const { status } = await graphql.post({ query: `{ myself { ${fields} } }` });
    t.equal(status, 200);
    const made = await waitFor('the call', async () => calls.filter((call) => call.endsWith(method)).length);
    t.equal(made, 1, method);
  }
});
