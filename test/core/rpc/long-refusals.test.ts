// test: postgres, 10 s
/**
 * Values that are far too long, which the rejection repeats: the call is answered, and the connection, which many
 * callers share, stays open.
 */

import { SearchJobsRequest } from '@slipway/proto/gen/slipway/v1/job_service';
import { toGrpcStatus } from '@slipway/proto/wire/reason';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';

t.setTimeout(600_000);

t.test('refusals of long values', async (t) => {
  const core = await startReplicas(t);
  const endpointId = await core.createEndpoint({ workersMin: 0 });
  const { id } = await core.submit(endpointId);
  const waiting = core.wait(endpointId, id, 5_000);
  for (const long of ['x'.repeat(1_000_000), '\u{1f600}'.repeat(300_000)]) {
    t.match(await reasonOf(core.createTemplate({ category: long })), /^INVALID_REQUEST: category is/);
    t.match(await reasonOf(core.createEndpoint({ gpuIds: [long] })), /^INVALID_REQUEST: gpu_ids/);
    t.match(await reasonOf(core.createEndpoint({ computeType: long })), /^INVALID_REQUEST: compute_type is/);
    t.match(await reasonOf(core.createEndpoint({ templateId: long })), /^INVALID_REQUEST: template_id/);
  }
  t.equal((await waiting).id, id, 'a call beside them is answered');
});

t.test('a text of any length has room in headers', (t) => {
  const { details, metadata } = toGrpcStatus('INVALID_REQUEST', '\u{1f600}'.repeat(100_000));
  const [status] = metadata.get('grpc-status-details-bin') as [Buffer];
  t.ok(encodeURIComponent(details).length + status.toString('base64').length < 60_000);
  t.equal(toGrpcStatus('INVALID_REQUEST', 'short').details, 'short');
  t.end();
});

t.test('lists without a bound and cursors behind all jobs are refused', async (t) => {
  const core = await startReplicas(t);
  const id = await core.createEndpoint({ workersMin: 0 });
  const many = Array.from({ length: 100 }, () => 'ADA_24');
  t.ok(await core.updateEndpoint(id, { gpuIds: many }));
  t.equal(
    await reasonOf(core.updateEndpoint(id, { gpuIds: [...many, 'ADA_24'] })),
    'INVALID_REQUEST: gpu_ids has 101 entries, but may have 100',
  );
  const list = (offset: number) =>
    call(
      core.clients.jobs,
      'listJobs',
      { endpointId: id, state: 0, offset, limit: 1_000, pageToken: '', oldestFirst: false },
      core.key,
    );
  t.match(await list(2_000_000_000), { jobs: [] });
  t.equal(await reasonOf(list(2 ** 31 - 1)), 'INVALID_REQUEST: offset must be from 0 to 2000000000');
});

t.test('a search for jobs of too many endpoints is refused before they are looked up', async (t) => {
  const core = await startReplicas(t);
  const search = (count: number) => {
    const endpointIds = Array.from({ length: count }, (_, index) => `unknown${index}`);
    return call(core.clients.jobs, 'searchJobs', SearchJobsRequest.fromPartial({ endpointIds }), core.key);
  };
  t.match(await reasonOf(search(100)), /^ENDPOINT_NOT_FOUND/);
  t.equal(await reasonOf(search(101)), 'INVALID_REQUEST: endpoint_ids has 101 entries, but may have 100');
});
