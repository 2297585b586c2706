// test: postgres
/** Calls that wait: one account must leave permits to the others, whatever it does on one stream. */

import { Access } from '@slipway/core/access/access';
import { StartedWorkers } from '@slipway/core/access/started-workers';
import { WaitStopper } from '@slipway/core/jobs/read/wait-stopper';
import { AccessChecks } from '@slipway/core/rpc/accounts/access-checks';
import { JobRpc } from '@slipway/core/rpc/jobs/job-rpc';
import { systemClock as clock } from '@slipway/kit/time/clock';
import { SubmitKind } from '@slipway/proto/gen/slipway/v1/job';
import { ReadChunksRequest, SubmitJobRequest } from '@slipway/proto/gen/slipway/v1/job_service';
import t from 'tap';
import { refused, startEngines, submission } from '../../helpers/system/job-engine.ts';

const engines = await startEngines(t);
const {
  engine: { calls },
  stores,
  events,
  sql,
} = engines;
const rootKey = 'root-key-of-this-test';
const access = new Access({ ...stores, events, rootKeys: [rootKey], clock });
const checks = new AccessChecks({ access, startedWorkers: new StartedWorkers(stores.workers, clock), clock });
await sql`INSERT INTO account (id, name) VALUES ('small', 'small')`;
const [greedy, small] = [await engines.endpoint(), await engines.endpoint({ account_id: 'small' })];
const PLACES = 8;

/** One way to wait for a job of an endpoint. */
type Wait = (rpc: JobRpc, endpointId: string, stopper: WaitStopper) => Promise<unknown>;

const jobOf = new Map<string, string>();
for (const endpointId of [greedy, small]) jobOf.set(endpointId, (await calls.submit(submission(endpointId))).id);
const WAYS: Record<string, Wait> = {
  wait: (rpc, endpointId, stopper) =>
    rpc.wait({ endpointId, jobId: jobOf.get(endpointId)!, waitMs: 60_000 }, rootKey, stopper),
  chunks: (rpc, endpointId, stopper) =>
    rpc.chunks(
      ReadChunksRequest.fromPartial({ endpointId, jobId: jobOf.get(endpointId)!, waitMs: 60_000 }),
      rootKey,
      stopper,
    ),
  submitAndWait: (rpc, endpointId, stopper) =>
    rpc.submitAndWait(
      SubmitJobRequest.fromPartial({ endpointId, kind: SubmitKind.SYNC, input: Buffer.from('{}'), waitMs: 60_000 }),
      rootKey,
      stopper,
    ),
};

for (const [name, begin] of Object.entries(WAYS)) {
  t.test(`${name}: half of the places at most, the rest are the others', and all come back`, async (t) => {
    const rpc = new JobRpc({ calls, access, checks, waitersMax: PLACES, readersMax: PLACES });
    const over = new WaitStopper();
    const waits = Array.from({ length: PLACES / 2 }, () => begin(rpc, greedy, over));
    await refused(t, begin(rpc, greedy, new WaitStopper()), 'RATE_LIMITED', 'one more');
    const other = begin(rpc, small, over);
    over.stop();
    await t.resolves(Promise.all([...waits, other]));
    const again = new WaitStopper();
    const next = Array.from({ length: PLACES / 2 }, () => begin(rpc, greedy, again));
    again.stop();
    await t.resolves(Promise.all(next), 'its places are its own again');
  });
}
