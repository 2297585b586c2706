// test: postgres
/** The rate limit of explanations: one for jobs and endpoints together, for each account. */
import { EXPLANATIONS_MAX } from '@slipway/core/domain/accounts/call-limits';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import t from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../../helpers/reason-of.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);
const core = await startReplicas(t);
const { clients, key, rootKey } = core;
const why = async (endpointId: string, apiKey = key) =>
  (await call(clients.endpoints, 'explain', { endpointId }, apiKey)).explanation!;
const whyJob = async (endpointId: string, jobId: string, apiKey = key) =>
  (await call(clients.jobs, 'explain', { endpointId, jobId }, apiKey)).explanation!;

t.test('one account asks so often and no more, for jobs and endpoints together, and others go on', async (t) => {
  const busy = await core.newKey(KeyScope.ALL, [], await core.newAccount('busy'));
  const endpointId = await core.createEndpoint({ workersMin: 0 }, busy);
  let refused = '';
  const ask = async () => {
    const reason = await reasonOf(whyJob(endpointId, 'none', busy));
    if (reason.startsWith('RATE_LIMITED')) refused = reason;
    return reason.split(':')[0]!;
  };
  const seen: string[] = [];
  // On a machine that is too busy for all calls of one window, the next window is tried.
  while (!seen.includes('RATE_LIMITED') && seen.length < 10 * EXPLANATIONS_MAX)
    seen.push(...(await Promise.all(Array.from({ length: 101 }, ask))));
  t.same([...new Set(seen)].sort(), ['JOB_NOT_FOUND', 'RATE_LIMITED']);
  t.ok(
    seen.filter((reason) => reason === 'JOB_NOT_FOUND').length >= EXPLANATIONS_MAX,
    'all that is within the rate passes',
  );
  // The window may be over by now: endpoints are asked until they are rejected too.
  const ofEndpoints = await waitFor('one of an endpoint', async () =>
    (await Promise.all(Array.from({ length: 101 }, () => reasonOf(why(endpointId, busy)).catch(() => '')))).find(
      (reason) => reason.startsWith('RATE_LIMITED'),
    ),
  );
  for (const text of [refused, ofEndpoints])
    t.match(text, /^RATE_LIMITED: More than 200 such calls of an account in 10 s; try again in \d+ s\./);
  t.ok((await why(endpointId, rootKey)).summary, 'the operator is not limited');
});
