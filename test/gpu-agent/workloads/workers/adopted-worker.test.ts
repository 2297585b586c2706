/** Workers that the previous run of the agent left: of those that do not run any more, the report says why. */
import { DesiredState, DesiredWorkers, WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import { turn, wired } from '../../attempts/wired.ts';

const PREVIOUS = {
  endpointId: 'e1',
  token: 'x',
  spec: WorkerSpec.fromPartial({ imageName: 'image' }),
  sdk: '1.12.0',
  asked: true,
  refresh: false,
  memory: {},
};
const { STOPPED, UNHEALTHY } = WorkerState;

const CASES: [title: string, frozen: boolean, state: WorkerState, error: string | undefined, reason: string][] = [
  ['nothing is left of a running one', false, UNHEALTHY, undefined, 'The worker ended while its agent was away.'],
  ['nothing is left of one on standby', true, STOPPED, undefined, 'The worker ended while its agent was away.'],
  [
    'the engine does not answer, and it was on standby',
    true,
    STOPPED,
    'connect ECONNREFUSED',
    'Its agent came back and could not find out whether it still runs: connect ECONNREFUSED',
  ],
];

for (const [title, frozen, state, error, reason] of CASES) {
  t.test(title, async (t) => {
    const { pool, executor, reporter } = await wired(t);
    executor.adopting = async () => {
      if (error !== undefined) throw new Error(error);
    };
    pool.adopt('w1', { ...PREVIOUS, frozen });
    await pool.begin(undefined);
    const worker = pool.get('w1')!;
    await waitFor('its end', () => worker.hasEnded);
    t.match(reporter.take(worker), { state, reason });
  });
}

t.test('its record stays while it is not known whether it runs: this agent may end before', async (t) => {
  const { pool, executor, runLog } = await wired(t);
  await runLog.open();
  const found = Promise.withResolvers<void>();
  executor.adopting = () => found.promise;
  pool.adopt('w1', { ...PREVIOUS, frozen: false });
  const begun = pool.begin(undefined);
  await turn();
  t.ok(runLog.hasRecords);
  found.resolve();
  await begun;
  await waitFor('its end', () => pool.get('w1')!.hasEnded);
  t.notOk(runLog.hasRecords, 'nothing is left of it');
});

t.test('there is no record of a rejected one', async (t) => {
  const { pool, runLog } = await wired(t);
  await runLog.open();
  pool.adopt('w1', { ...PREVIOUS, frozen: false });
  await pool.begin('Its agent came back too late.');
  t.notOk(runLog.hasRecords);
});

t.test('one that core wants on standby and that is not here: it is not started, and says why', async (t) => {
  const { pool, executor, reporter } = await wired(t);
  const how = { desired: DesiredState.FREEZE, spec: { startCommand: ['run'] } };
  pool.apply(DesiredWorkers.fromPartial({ workers: [{ workerId: 'w1', endpointId: 'e1', ...how }] }));
  const worker = pool.get('w1')!;
  await waitFor('its end', () => worker.hasEnded);
  t.match(reporter.take(worker), { state: STOPPED, reason: /^Core wanted it on standby, and nothing of it runs/ });
  t.equal(executor.starts.length, 0);
});

t.test('one that cannot be resumed says why', async (t) => {
  const { pool, executor, reporter, desire } = await wired(t);
  await desire({ w1: 'e1' });
  const worker = pool.get('w1')!;
  const want = (desired: DesiredState): void => {
    const wanted = { workerId: 'w1', endpointId: 'e1', desired, spec: worker.spec };
    pool.apply(DesiredWorkers.fromPartial({ workers: [wanted] }));
  };
  want(DesiredState.FREEZE);
  await waitFor('standby', () => worker.frozenSinceMs !== undefined);
  executor.thawing = async () => {
    throw new Error('no such container');
  };
  want(DesiredState.RUN);
  await waitFor('its end', () => worker.hasEnded);
  t.match(reporter.take(worker), {
    state: STOPPED,
    reason: 'It could not be resumed from standby: no such container.',
  });
});
