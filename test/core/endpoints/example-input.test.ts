// test: postgres
/** The example of a request to an endpoint: which one core chooses, and who gets it. */
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import { Endpoint, EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { ExampleInputOrigin as Origin } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';

t.setTimeout(600_000);

const GENERAL = { origin: Origin.GENERAL, input: '{"prompt":"a lighthouse at dusk"}', jobId: '', isCut: false };

async function start(t: Parameters<typeof startReplicas>[0]) {
  const core = await startReplicas(t);
  const { endpoints, templates } = core.clients;
  return {
    core,
    example: (endpointId: string, key = core.key) => call(endpoints, 'getExampleInput', { endpointId }, key),
    setExample: (id: string, exampleInput: string) =>
      call(
        endpoints,
        'updateEndpoint',
        { endpoint: Endpoint.fromPartial({ id, exampleInput }), updateMask: ['example_input'] },
        core.key,
      ),
    setOfTemplate: (id: string, exampleInput: string) =>
      call(
        templates,
        'updateTemplate',
        { template: Template.fromPartial({ id, exampleInput }), updateMask: ['example_input'] },
        core.key,
      ),
  };
}

t.test('the own one, else that of the template, else the last completed input, else a general one', async (t) => {
  const { core, example, setExample, setOfTemplate } = await start(t);
  await core.joinAgent({
    capacity: 10,
    onAssignment: ({ input }) =>
      input?.toString().includes('fail')
        ? { kind: OutcomeKind.FAILED, error: 'as asked' }
        : { kind: OutcomeKind.COMPLETED },
  });
  const endpointId = await core.createEndpoint({ workersMin: 1 });
  const run = async (input: object): Promise<string> => {
    const { id } = await core.submit(endpointId, input);
    await core.wait(endpointId, id);
    return id;
  };
  t.match(await example(endpointId), GENERAL, 'no job was completed');
  await run({ fail: true });
  t.match(await example(endpointId), GENERAL, 'a failed one is no example');
  const first = await run({ seed: 1, names: ['ä'] });
  t.match(await example(endpointId), { origin: Origin.JOB, jobId: first, input: '{"seed":1,"names":["ä"]}' });

  const long = await run({ image: 'i'.repeat(5_000), size: 3 });
  const cut = await example(endpointId);
  t.match(cut, { origin: Origin.JOB, jobId: long, isCut: true });
  t.same(JSON.parse(cut.input), { image: `${'i'.repeat(100)}…`, size: 3 }, 'its long texts are shortened');
  const huge = await run({ image: 'i'.repeat(1_100_000) });
  t.match(await example(endpointId), { jobId: long }, 'a huge one is passed over');
  await core.sql`UPDATE job_input SET batch_id = 'batch' WHERE job_id = ANY(${[huge, long]})`;
  t.match(await example(endpointId), { jobId: first, isCut: false }, 'and those of batches');
  await core.sql`UPDATE job SET expires_at = now() WHERE id = ${first}`;
  t.match(await example(endpointId), GENERAL, 'an expired job is gone');

  const [row] = await core.sql<{ template_id: string }[]>`SELECT template_id FROM endpoint WHERE id = ${endpointId}`;
  const last = await run({ seed: 2 });
  t.match(await example(endpointId), { origin: Origin.JOB, jobId: last });
  await setOfTemplate(row!.template_id, '{"of":"template"}');
  t.match(await example(endpointId), { origin: Origin.TEMPLATE, input: '{"of":"template"}', jobId: '' });
  await setExample(endpointId, '{"of":"endpoint"}');
  t.match(await example(endpointId), { origin: Origin.ENDPOINT, input: '{"of":"endpoint"}', jobId: '' });
});

t.test('a load-balancing endpoint: a whole request', async (t) => {
  const { core, example, setExample, setOfTemplate } = await start(t);
  const templateId = await core.createTemplate({});
  const id = await core.createEndpoint({ templateId, type: EndpointType.LB });
  t.match(await example(id), { origin: Origin.GENERAL, input: '{"method":"GET","path":"/ping"}' });
  await setOfTemplate(templateId, '{"path":"no slash"}');
  t.match(await example(id), { origin: Origin.GENERAL }, 'an input for a queue is no request');
  await setOfTemplate(templateId, '{"path":"/of-template"}');
  t.match(await example(id), { origin: Origin.TEMPLATE, input: '{"method":"GET","path":"/of-template"}' });
  await setExample(id, '{"path":"/chat","body":{"a":1}}');
  t.match(await example(id), { origin: Origin.ENDPOINT, input: '{"method":"POST","path":"/chat","body":{"a":1}}' });
  await setExample(id, '{"path":"/chat","body":{"id":9007199254740993}}');
  const { input } = await example(id);
  t.equal(input, '{"method":"POST","path":"/chat","body":{"id":9007199254740993}}', 'numbers keep their digits');
});

t.test('who gets it', async (t) => {
  const { core, example } = await start(t);
  await core.joinAgent({ capacity: 1, onAssignment: () => ({ kind: OutcomeKind.COMPLETED }) });
  const endpointId = await core.createEndpoint({ workersMin: 1 });
  const { id } = await core.submit(endpointId, { mine: true });
  await core.wait(endpointId, id);
  const reader = await core.newKey(KeyScope.READ_ONLY);
  t.match(await example(endpointId, reader), { jobId: id }, 'whoever may read the job');
  t.match(await example(endpointId, core.rootKey), { origin: Origin.GENERAL, jobId: '' }, 'never the operator');
  const other = await core.newKey(KeyScope.ALL, [], await core.newAccount('other'));
  await t.rejects(example(endpointId, other), /no endpoint/, 'nor another account');
});
