/**
 * Part `graphql`: /graphql for an account with 1,000 endpoints, compared with graphql-js that answers the same from
 * memory.
 */
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { call } from '@slipway/test/helpers/grpc/grpc-clients';
import { Child } from '../child.ts';
import type { Figure } from '../figure.ts';
import type { Load } from '../load/load-generator.ts';
import type { Bench } from '../stack/bench.ts';
import { loadFigures, measureLoad } from '../stack/bench.ts';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/stack.ts';

const ENDPOINTS = 1_000;
const CREATED_AT_ONCE = 32;
const CONNECTIONS = 20;
const RATE_MIN = 200;
const P50_MS_MAX = 50;

/** Fields of an endpoint that are not objects of their own. */
const FIELDS = `id name userId aiKey gpuIds gpuCount computeType instanceIds templateId type idleTimeout locations flashBootType scalerType scalerValue
  workersMin workersMax workersStandby workersPFBTarget networkVolumeId executionTimeoutMs allowedCudaVersions minCudaVersion version createdAt
  modelReferences flashEnvironmentId activeBuildid idePodId`;
const LIST = `{ myself { endpoints { ${FIELDS} } } }`;

/** Measures the list and a small query, then the same on the ceiling. */
export async function measureGraphql(bench: Bench): Promise<Figure[]> {
  const stack = await startStack(bench);
  const bare = await Child.start('tools/bench/bare/bare-graphql.ts');
  try {
    bench.say(`graphql: creating ${ENDPOINTS} endpoints`);
    const endpointId = await createEndpoints(stack);
    const small = `{ endpoint(id: "${endpointId}") { ${FIELDS} } }`;
    const data = { ...(await ask(stack, LIST)), ...(await ask(stack, small)) };
    await bare.ask('answerFrom', data);
    const { facade, core, postgres } = stack.processes;
    const ours = { facade, core, postgres, load: bench.load.pid };
    const theirs = { graphqljs: bare.pid, load: bench.load.pid };
    const figures: Figure[] = [];
    const measure = async (name: string, query: string, connections: number, target: boolean): Promise<void> => {
      bench.say(`graphql: ${name}, ${connections} connections`);
      const load = { connections, expect: endpointId };
      const mine = await measureLoad(bench, { ...load, ...requestOf(stack, query) }, ours);
      const [rate, p50, p99] = loadFigures(`GraphQL ${name} ×${connections}`, '', mine, false);
      figures.push(
        { ...rate!, ...(target && connections > 1 ? { target: RATE_MIN } : {}) },
        { ...p50!, ...(target && connections === 1 ? { target: P50_MS_MAX } : {}) },
        p99!,
      );
      const ceiling = await measureLoad(
        bench,
        { ...load, url: `${bare.ready.url}/graphql`, headers: {}, body: bodyOf(query) },
        theirs,
      );
      figures.push(...loadFigures(`ceiling: graphql-js ${name} ×${connections}`, '', ceiling, false).slice(0, 2));
    };
    await measure('list of 1,000', LIST, 1, true);
    await measure('list of 1,000', LIST, CONNECTIONS, true);
    await measure('list of 1,000, no two alike', `# {connection}\n${LIST}`, CONNECTIONS, false);
    await measure('one endpoint, no two alike', `# {connection}\n${small}`, CONNECTIONS, true);
    return figures;
  } finally {
    await bare.stop();
    await stack.stop();
  }
}

function bodyOf(query: string): string {
  return JSON.stringify({ query });
}

function requestOf(stack: Stack, query: string): Pick<Load, 'url' | 'headers' | 'body'> {
  return { url: `${stack.url}/graphql`, headers: { authorization: `Bearer ${stack.key}` }, body: bodyOf(query) };
}

async function ask(stack: Stack, query: string): Promise<Record<string, unknown>> {
  const { url, headers, body } = requestOf(stack, query);
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
  });
  const { data, errors } = (await response.json()) as { data: Record<string, unknown>; errors?: unknown };
  if (errors) throw new Error(`an answer was wrong: ${JSON.stringify(errors)}`);
  return data;
}

/** Creates the endpoints. Returns the id of the last one. */
async function createEndpoints({ clients, key }: Stack): Promise<string> {
  const template = Template.fromPartial({ name: 'bench', startCommand: ['true'], serverless: true });
  const { template: made } = await call(clients.templates, 'createTemplate', { template }, key);
  let next = 0;
  let last = '';
  const create = async (): Promise<void> => {
    while (next < ENDPOINTS) {
      next += 1;
      const endpoint = Endpoint.fromPartial({
        name: `endpoint ${next}`,
        templateId: made!.id,
        gpuIds: ['AMPERE_16', 'AMPERE_24'],
        locations: ['US'],
        allowedCudaVersions: ['12.8', '12.9'],
        idleTimeoutSeconds: 60,
      });
      const request = { endpoint, requestId: '', workersMax: 0, retryLimit: undefined };
      last = (await call(clients.endpoints, 'createEndpoint', request, key)).endpoint!.id;
    }
  };
  await Promise.all(Array.from({ length: CREATED_AT_ONCE }, create));
  return last;
}
