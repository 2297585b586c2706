// test: postgres, 10 s
/**
 * An endpoint that no machine could ever run says so at once, on every surface, until a change makes it possible. Real
 * agents without an engine.
 */
import t from 'tap';
import { commandLine } from '../../cli/command-line.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { joinEngineMachine } from '../../helpers/system/engine-machine.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);
const system = await startSystem(t, { agentEnv: { SLIPWAY_AGENT_NAME: 'laptop' } });
const cli = commandLine(t, {
  SLIPWAY_CORE_ADDRESS: system.cores[0]!.address,
  SLIPWAY_API_KEY: system.key,
  SLIPWAY_ROOT_KEY: system.rootKey,
});

async function make(path: string, body: object): Promise<string> {
  const { status, json, text } = await system.request('POST', `/v1/${path}`, body);
  t.ok(status < 300, text);
  return json['id'] as string;
}

async function endpointOf(template: object, fields: object = {}): Promise<string> {
  const templateId = await make('templates', {
    name: `t-${Math.trunc(performance.now() * 1_000)}`,
    isServerless: true,
    ...template,
  });
  return make('endpoints', { templateId, computeType: 'CPU', ...fields });
}

const health = async (id: string) =>
  (await system.request('GET', `/v2/${id}/health`)).json['workers'] as Record<string, unknown>;

t.test('an image on a fleet without a container engine', async (t) => {
  const why = 'no machine can run it, as it needs a container engine for its image: 1 machine has no container engine';
  await waitFor('the machine', async () => (await cli.run('machines')).stdout.includes('laptop'));
  const id = await endpointOf({ imageName: 'ollama/ollama:latest', dockerStartCmd: ['serve'] });
  t.match(await health(id), { throttled: 0, cannotRunReason: why }, 'before any job waits');
  t.match((await system.request('GET', `/v1/endpoints/${id}`)).json, { cannotRunReason: why });
  t.match((await system.request('GET', '/v1/endpoints')).json, [{ id, cannotRunReason: why }]);
  const { json } = await system.request('POST', '/graphql', {
    query: '{ myself { endpoints { id cannotRunReason throttledReason } } }',
  });
  t.match(json, { data: { myself: { endpoints: [{ id, cannotRunReason: why, throttledReason: null }] } } });
  for (const words of [
    ['endpoints', 'list'],
    ['endpoints', 'get', id],
    ['endpoints', 'health', id],
    ['workers', id],
  ]) {
    t.ok((await cli.run(...words)).stdout.includes(why), `slipway ${words.join(' ')}`);
  }
  t.match((await cli.run('machines')).stdout, /laptop .* commands/);
  await system.request('POST', `/v2/${id}/run`, { input: {} });
  await waitFor('the job to be told of', async () => (await health(id))['throttled'] === 1);
  t.same(
    (await system.request('GET', `/v1/endpoints/${id}?includeWorkers=true`)).json['workers'],
    [],
    'nothing was started anywhere',
  );

  const engine = await joinEngineMachine(t, system);
  await waitFor('the worker', () => engine.desired.length === 1);
  t.match(engine.desired, [
    { spec: { imageName: 'ollama/ollama:latest', startCommand: ['serve'], containerDiskGb: 50 } },
  ]);
  await waitFor('nothing to tell', async () => !('cannotRunReason' in (await health(id))));
  t.match((await cli.run('machines')).stdout, /engines00000 .* images \(docker 1\) .* memory .* 500 MiB of 1000 MiB/);
  t.match(JSON.parse((await cli.run('machines', '--json')).stdout), [
    { containerEngine: { gpuHandover: 'CDI' }, runsCommands: false },
    { runsCommands: true },
  ]);
});

t.test('a command on a fleet that allows none', async (t) => {
  await system.startAgent(undefined, {
    SLIPWAY_AGENT_ALLOW_COMMANDS: 'false',
    SLIPWAY_AGENT_LOCATIONS: 'EU-RO-1',
    SLIPWAY_AGENT_NAME: 'rack',
  });
  const id = await endpointOf(
    { imageName: '', dockerStartCmd: jsHandler('all.js') },
    { dataCenterIds: ['EU-RO-1'], workersMin: 1 },
  );
  await waitFor('the reason', async () =>
    /allows commands in EU-RO-1: 1 machine allows no commands; 2 machines are elsewhere/.test(
      String((await health(id))['cannotRunReason']),
    ),
  );
  const { clients, rootKey } = system;
  const { workers } = await call(clients.jobs, 'getHealth', { endpointId: id }, rootKey);
  t.match(
    workers!.cannotRunReason,
    /rack: its operator allows no commands \(its agent runs without --allow-commands\)/,
    'the operator learns where',
  );
  await system.startAgent(undefined, { SLIPWAY_AGENT_LOCATIONS: 'EU-RO-1' });
  await waitFor('a worker where they are allowed', async () => (await health(id))['ready'] === 1, 30_000);
  await waitFor('nothing to tell', async () => !('cannotRunReason' in (await health(id))));
});
