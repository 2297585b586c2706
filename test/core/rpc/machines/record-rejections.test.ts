// test: postgres
/**
 * Every replica explains the requests that facades rejected by rate limits: whose reports count, which parts of them,
 * and for how long.
 */

import { REJECTIONS_VALID_MS, RejectionTracker } from '@slipway/core/edge/rejection-tracker';
import { RejectionReporter } from '@slipway/facades/core-client/rejection-reporter';
import { createLogger } from '@slipway/kit/log/logger';
import { systemTransport } from '@slipway/kit/net/channel';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import type { EndpointRefusals, RefusedRequests } from '@slipway/proto/gen/slipway/v1/edge_service';
import { EdgeServiceClient, RequestLimit, RequestOperation } from '@slipway/proto/gen/slipway/v1/edge_service';
import type { EndpointExplanation } from '@slipway/proto/gen/slipway/v1/explanation';
import { REJECTIONS_PER_CALL_MAX, REQUEST_WINDOW_SECONDS } from '@slipway/proto/wire/limits';
import t from 'tap';
import { call, grpcClients } from '../../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../../helpers/reason-of.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { ManualClock } from '../../../helpers/time/manual-clock.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);
const core = await startReplicas(t, 2);
const addresses = core.replicas.map(({ address }) => address);
const clients = addresses.map((address) => grpcClients(address));
const edge = systemTransport.openClient(EdgeServiceClient, addresses[0]!);
t.teardown(() => {
  for (const client of [edge, ...clients]) client.close();
});

const newEndpoint = () => core.createEndpoint({ workersMin: 0, workersMax: 0 });
/** Without what bounds workers. */
const requestLimits = ({ limits: all }: EndpointExplanation) => all.filter(({ limit }) => limit.startsWith('REQUEST'));
const limits = async (endpointId: string, replica = 0): Promise<string[]> => {
  const { explanation } = await call(clients[replica]!.endpoints, 'explain', { endpointId }, core.key);
  return requestLimits(explanation!).map(({ limit, cut, text }) => `${limit} ${cut}: ${text}`);
};
/** Says something to the first replica. */
const tell = (...endpoints: EndpointRefusals[]) => call(edge, 'tellRefusals', { endpoints }, '');
const rate = { limit: RequestLimit.RATE, operation: RequestOperation.RUN, most: 1_000, count: 1 };
const entry = (endpointId: string, more: Partial<RefusedRequests> = {}, apiKey = core.key): EndpointRefusals => ({
  endpointId,
  apiKey,
  refused: [{ ...rate, ...more }],
});

t.test('a facade tells every replica, which explain the endpoint and its jobs', async (t) => {
  const [endpointId, other] = [await newEndpoint(), await newEndpoint()];
  const { id: jobId } = await core.submit(endpointId);
  const reporter = new RejectionReporter({
    addresses,
    transport: systemTransport,
    clock: systemClock,
    random: systemRandom,
    logger: createLogger('test', 'silent'),
  });
  await reporter.start();
  t.teardown(() => reporter.stop());
  const caller = { accountId: core.accountId, endpointId, apiKey: core.key };
  for (let count = 0; count < 3; count += 1)
    reporter.add(caller, { limit: RequestLimit.RATE, operation: RequestOperation.PURGE_QUEUE, most: 2 });
  reporter.add(caller, { limit: RequestLimit.QUOTA, operation: RequestOperation.STATUS, most: 70 });
  const quota =
    "REQUEST_QUOTA 0: more than the account's quota of 70 requests in 10 s; of requests to status 1 was refused " +
    '(429) within the last minute';
  const told = [
    'REQUEST_RATE 0: more than 2 requests to purge-queue in 10 s: 3 were refused (429) within the last minute',
    quota,
  ];
  for (const replica of [0, 1]) {
    await waitFor('it to be told', async () => (await limits(endpointId, replica)).length > 0);
    t.same(await limits(endpointId, replica), told);
    const { explanation } = await call(clients[replica]!.jobs, 'explain', { endpointId, jobId }, core.key);
    t.match(requestLimits(explanation!.endpoint!), [{ limit: 'REQUEST_RATE' }, { limit: 'REQUEST_QUOTA' }]);
    t.same(await limits(other, replica), [quota], "of another endpoint what is the account's");
  }
});

t.test("only of endpoints whose jobs the key may use; the others' entries count all the same", async (t) => {
  const stranger = await core.newKey(undefined, [], await core.newAccount());
  const endpointId = await newEndpoint();
  const before = await limits(endpointId);
  t.match(await reasonOf(tell(entry(endpointId, {}, 'rpa_unknown'))), /^UNAUTHORIZED/);
  t.match(await reasonOf(tell(entry(endpointId, {}, stranger))), /^ENDPOINT_NOT_FOUND/);
  t.same(await limits(endpointId), before);
  await tell(entry(endpointId), entry(endpointId, {}, stranger));
  const added = async () => (await limits(endpointId)).filter((text) => !before.includes(text));
  t.same(await added(), [
    'REQUEST_RATE 0: more than 1000 requests to run in 10 s: 1 was refused (429) within the last minute',
  ]);
  const atOnce = { limit: RequestLimit.AT_ONCE, operation: RequestOperation.LB, most: 20 };
  const share = { limit: RequestLimit.ACCOUNT_SHARE, most: 0 };
  await tell(entry(endpointId, { count: 4 }), entry(endpointId, atOnce), entry(endpointId, share));
  t.same(
    (await added()).map((text) => text.split(/ \(429\)/)[0]),
    [
      'REQUEST_RATE 0: more than 1000 requests to run in 10 s: 5 were refused',
      'REQUESTS_AT_ONCE 0: more than 20 requests to the endpoint at a time: 1 was refused',
      "REQUESTS_AT_ONCE 0: more requests to run at a time than the account's share of all that a facade has under " +
        'way: 1 was refused',
    ],
  );
});

/** Values that a newer facade may send. */
const UNKNOWN = { limit: 99 as RequestLimit, operation: 99 as RequestOperation };
t.test('impossible reports', async (t) => {
  const endpointId = await newEndpoint();
  const before = await limits(endpointId);
  const impossible: Partial<RefusedRequests>[] = [
    { count: 0 },
    { count: -1 },
    { most: -1 },
    { limit: 0 },
    { operation: 0 },
    UNKNOWN,
  ];
  await tell(...impossible.map((more) => entry(endpointId, more)));
  t.match(
    await reasonOf(tell(...Array.from({ length: REJECTIONS_PER_CALL_MAX + 1 }, () => entry(endpointId)))),
    /^INVALID_REQUEST.*51 entries/,
  );
  t.same(await limits(endpointId), before);
});

t.test('it is forgotten a minute after the first', (t) => {
  const clock = new ManualClock();
  const book = new RejectionTracker(clock, REQUEST_WINDOW_SECONDS);
  const refused = { limit: 'RATE', operation: 'run', most: 1, count: 1 } as const;
  book.add('a', 'e', refused);
  clock.pass(REJECTIONS_VALID_MS - 1);
  book.add('a', 'e', refused);
  t.match(book.of('a', 'e'), [{ text: /2 were refused/ }]);
  clock.pass(2);
  t.same(book.of('a', 'e'), []);
  book.add('a', 'e', refused);
  t.match(book.of('a', 'e'), [{ text: /1 was refused/ }], 'and counts anew');
  t.end();
});
