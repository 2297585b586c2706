// test: alone, postgres, grpcurl, 10 s
/**
 * Server reflection: whole files with all that they import, to generic clients and to grpcurl; nothing piles up for who
 * does not read.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromBinary } from '@bufbuild/protobuf';
import type { FileDescriptorProto } from '@bufbuild/protobuf/wkt';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import type { ClientDuplexStream } from '@grpc/grpc-js';
import { Client, status as Code, credentials } from '@grpc/grpc-js';
import type {
  ServerReflectionRequest,
  ServerReflectionResponse,
} from '@slipway/proto/gen/grpc/reflection/v1/reflection';
import { ServerReflectionService } from '@slipway/proto/gen/grpc/reflection/v1/reflection';
import t from 'tap';
import { allRpcs } from '../../helpers/grpc/any-rpc.ts';
import { grpcurl, skipWithoutGrpcurl } from '../../helpers/grpc/grpcurl.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';

t.setTimeout(600_000);

type Ask = ServerReflectionRequest['messageRequest'];
type Stream = ClientDuplexStream<ServerReflectionRequest, ServerReflectionResponse>;
const { path, requestSerialize, responseDeserialize } = ServerReflectionService.serverReflectionInfo;
const OTHERS = [
  'grpc.health.v1.Health',
  'grpc.reflection.v1.ServerReflection',
  'grpc.reflection.v1alpha.ServerReflection',
  // For Envoy.
  'envoy.service.discovery.v3.AggregatedDiscoveryService',
  'envoy.service.load_stats.v3.LoadReportingService',
  'envoy.service.accesslog.v3.AccessLogService',
];
/** All files of the contract. */
const contract = fromBinary(
  FileDescriptorSetSchema,
  readFileSync(join(import.meta.dirname, '../../../proto/gen/descriptors.binpb')),
).file;

function reflectionClient(address: string, at = path) {
  const client = new Client(address, credentials.createInsecure());
  const open = (): Stream => client.makeBidiStreamRequest(at, requestSerialize, responseDeserialize);
  return {
    open,
    close: () => client.close(),
    ask: async (messageRequest: Ask): Promise<NonNullable<ServerReflectionResponse['messageResponse']>> => {
      const stream = open();
      stream.end({ host: '', messageRequest } satisfies ServerReflectionRequest);
      const answers = [];
      for await (const answer of stream as AsyncIterable<ServerReflectionResponse>) answers.push(answer);
      return answers[0]!.messageResponse!;
    },
  };
}

const core = await startReplicas(t);
const address = core.replicas[0]!.address;
const services = [
  ...new Set([...(await allRpcs()).keys()].map((name) => `slipway.v1.${name.split('/')[0]}`)),
  ...OTHERS,
].sort();

async function filesOf(client: ReturnType<typeof reflectionClient>, ask: Ask): Promise<FileDescriptorProto[]> {
  const answer = await client.ask(ask);
  if (answer.$case !== 'fileDescriptorResponse') throw new Error(JSON.stringify(answer));
  return answer.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
}

for (const version of ['v1', 'v1alpha']) {
  t.test(`${version}: every service and file comes with all that it imports`, async (t) => {
    const client = reflectionClient(address, path.replace('.v1.', `.${version}.`) as typeof path);
    t.teardown(() => client.close());
    const listed = await client.ask({ $case: 'listServices', value: '' });
    t.same(listed.$case === 'listServicesResponse' && listed.value.service.map((service) => service.name), services);
    for (const asked of [
      ...services.map((value): Ask => ({ $case: 'fileContainingSymbol', value })),
      ...contract.map((file): Ask => ({ $case: 'fileByFilename', value: file.name })),
    ]) {
      const files = await filesOf(client, asked);
      const names = new Set(files.map((file) => file.name));
      const missing = files.flatMap((file) => file.dependency).filter((name) => !names.has(name));
      t.same(missing, [], `${asked!.$case} ${String(asked!.value)}`);
    }
  });
}

t.test('every message and enum is found in its file', async (t) => {
  const client = reflectionClient(address);
  t.teardown(() => client.close());
  for (const file of contract.filter(({ package: name }) => name === 'slipway.v1')) {
    for (const { name } of [...file.messageType, ...file.enumType]) {
      const [found] = await filesOf(client, { $case: 'fileContainingSymbol', value: `slipway.v1.${name}` });
      t.equal(found!.name, file.name, name);
    }
  }
});

t.test('symbols are found by every name; what is not there is said', async (t) => {
  const client = reflectionClient(address);
  t.teardown(() => client.close());
  const fileOf = async (value: string): Promise<string> =>
    (await filesOf(client, { $case: 'fileContainingSymbol', value }))[0]!.name;
  t.equal(await fileOf('slipway.v1.JobService.SubmitJob'), 'slipway/v1/job_service.proto');
  t.equal(await fileOf('slipway.v1.Job.id'), 'slipway/v1/job.proto');
  t.equal(await fileOf('slipway.v1.JOB_STATE_IN_QUEUE'), 'slipway/v1/job.proto');
  t.equal(await fileOf('google.protobuf.Timestamp'), 'google/protobuf/timestamp.proto');
  t.equal(await fileOf('google.rpc.ErrorInfo'), 'google/rpc/error_details.proto');
  const NOT_FOUND = { $case: 'errorResponse', value: { errorCode: Code.NOT_FOUND } };
  for (const value of ['slipway.v1.Nothing', '', 'slipway.v1', 'toString', '__proto__']) {
    t.match(await client.ask({ $case: 'fileContainingSymbol', value }), NOT_FOUND, JSON.stringify(value));
    t.match(await client.ask({ $case: 'fileByFilename', value }), NOT_FOUND, JSON.stringify(value));
  }
  t.match(
    await client.ask({
      $case: 'fileContainingExtension',
      value: { containingType: 'slipway.v1.Job', extensionNumber: 1 },
    }),
    NOT_FOUND,
  );
  t.match(await client.ask({ $case: 'allExtensionNumbersOfType', value: 'slipway.v1.Job' }), {
    value: { extensionNumber: [] },
  });
  t.match(await client.ask(undefined), { value: { errorCode: Code.INVALID_ARGUMENT } });
});

t.test('a caller who asks a thousand times and reads nothing costs no memory', async (t) => {
  const client = reflectionClient(address);
  t.teardown(() => client.close());
  const TIMES = 2_000;
  const ask: ServerReflectionRequest = {
    host: '',
    messageRequest: { $case: 'fileContainingSymbol', value: 'slipway.v1.AgentService' },
  };
  const greedy = client.open();
  const before = process.memoryUsage().rss;
  for (let i = 0; i < TIMES; i += 1) greedy.write(ask);
  greedy.end();
  // Calls on streams opened later are answered: by then the greedy stream has received all that fits its window.
  for (let i = 0; i < 10; i += 1) await client.ask({ $case: 'listServices', value: '' });
  const grownBytes = process.memoryUsage().rss - before;
  t.ok(grownBytes < 64 * 1024 * 1024, `grew by ${Math.round(grownBytes / 1024)} KiB`);
  let answers = 0;
  let bytes = 0;
  for await (const { messageResponse } of greedy as AsyncIterable<ServerReflectionResponse>) {
    answers += 1;
    if (messageResponse?.$case === 'fileDescriptorResponse')
      for (const file of messageResponse.value.fileDescriptorProto) bytes += file.length;
  }
  t.equal(answers, TIMES, 'each is answered when it is read');
  t.ok(bytes > 64 * 1024 * 1024, 'and they are more than what the memory grew by');
});

t.test('grpcurl lists, describes and calls by reflection alone', { skip: skipWithoutGrpcurl() }, async (t) => {
  const key = ['-H', `authorization: Bearer ${core.key}`];
  const { output: listed } = await grpcurl(address, [], 'list');
  t.same(listed.trim().split('\n').sort(), services);
  await t.test('services, messages, enums and methods can be described', async (t) => {
    const every = await grpcurl(address, [], 'describe');
    for (const name of services) t.ok(every.output.includes(`${name} is a service`), name);
    t.match(every.output, '// Cancels a queued or running job', 'with the comments');
    for (const name of [
      'slipway.v1.Job',
      'slipway.v1.JobState',
      'slipway.v1.JobService.SubmitJob',
      'google.protobuf.Timestamp',
      'google.rpc.ErrorInfo',
    ]) {
      const { code, output } = await grpcurl(address, [], 'describe', name);
      t.ok(code === 0 && output.includes(`${name} is a`), name, { output });
    }
  });
  t.same(JSON.parse((await grpcurl(address, [], 'grpc.health.v1.Health/Check')).output), { status: 'SERVING' });
  const endpointId = await core.createEndpoint();
  const submit = JSON.stringify({ endpointId, input: Buffer.from('{}').toString('base64'), kind: 'SUBMIT_KIND_ASYNC' });
  const submitted = await grpcurl(address, [...key, '-d', submit], 'slipway.v1.JobService/SubmitJob');
  t.equal(submitted.code, 0, submitted.output);
  t.match(JSON.parse(submitted.output), { job: { id: String, state: 'JOB_STATE_IN_QUEUE' } });
  const health = await grpcurl(
    address,
    [...key, '-d', JSON.stringify({ endpointId })],
    'slipway.v1.JobService/GetHealth',
  );
  t.match(JSON.parse(health.output), { jobs: { inQueue: '1' } });
  const refused = await grpcurl(address, [...key, '-d', '{"endpointId":"nothing"}'], 'slipway.v1.JobService/GetHealth');
  t.not(refused.code, 0);
  t.match(refused.output, /Code: NotFound[^]*google.rpc.ErrorInfo[^]*"reason": "ENDPOINT_NOT_FOUND"/);
});
