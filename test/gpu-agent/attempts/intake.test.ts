/**
 * Large inputs of one worker: as many are fetched as have room, the others wait for it to take some, and another
 * worker's wait for none of them.
 */

import { Intake } from '@slipway/gpu-agent/attempts/intake';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Test } from 'tap';
import t from 'tap';
import { turn, wired } from './wired.ts';

const MEBIBYTE = 1024 * 1024;

/** Core assigns large inputs, which arrive when the test says so. */
async function fetching(t: Test) {
  const agent = await wired(t);
  await agent.desire({ w: 'e', other: 'o' });
  const asked: { jobId: string; arrive(): void }[] = [];
  const fetchInput = ({ jobId }: { jobId: string }): Promise<Buffer[]> =>
    new Promise((resolve) => {
      asked.push({ jobId, arrive: () => resolve([Buffer.from('{}')]) });
    });
  const intake = new Intake({ ...agent, large: { fetchInput } });
  const assign = (workerId: string, jobs: readonly string[], inputSize: number): void => {
    intake.assign(
      jobs.map((job) => ({
        ref: agent.refOf(job, workerId),
        input: undefined,
        inputSize,
        s3Config: undefined,
        ahead: false,
      })),
    );
  };
  return { ...agent, assign, asked, askedJobs: () => asked.map(({ jobId }) => jobId) };
}

const names = (count: number): string[] => Array.from({ length: count }, (_, number) => `j${number}`);

t.test('a worker that takes nothing', async (t) => {
  const agent = await fetching(t);
  agent.assign('w', names(1_000), 10 * MEBIBYTE);
  await turn();
  t.same(agent.askedJobs(), names(6), '64 MiB of them');
  for (const { arrive } of agent.asked) arrive();
  await turn();
  t.equal(agent.asked.length, 6, 'also when these are here');
  agent.assign('other', ['mine'], 10 * MEBIBYTE);
  await turn();
  t.equal(agent.asked.length, 7);

  const reported: string[] = [];
  agent.openTake('w', { reported });
  agent.handOver.offer(agent.pool.get('w')!);
  await turn();
  t.equal(reported.length, 1);
  t.same(agent.askedJobs().slice(7), ['j6'], 'one was taken, the next comes');
  agent.clock.pass(130_000);
  agent.watch.pass();
  const returned = agent
    .message()!
    .outcomes.filter(({ ref, kind }) => ref!.workerId === 'w' && kind === OutcomeKind.RETURNED);
  t.equal(returned.length, 999, 'what its worker did not take in two minutes goes back');
  agent.assign('w', ['again'], 50 * MEBIBYTE);
  await turn();
  t.equal(agent.askedJobs().at(-1), 'again', 'and their room with them');
});

t.test('waiting inputs end with their worker', async (t) => {
  const agent = await fetching(t);
  agent.assign('w', names(20), 20 * MEBIBYTE);
  await turn();
  t.equal(agent.asked.length, 3);
  await agent.exit('w');
  t.equal(agent.table.size, 0);
  t.equal(agent.asked.length, 3, 'none of them is fetched any more');
});

t.test('an input in transit keeps its budget after its attempt ended, until it arrives', async (t) => {
  const agent = await fetching(t);
  agent.assign('w', names(3), 20 * MEBIBYTE);
  await turn();
  agent.stopper.stop(names(3).map((job) => ({ ref: agent.refOf(job, 'w'), reason: '' })));
  agent.assign('w', ['next'], 20 * MEBIBYTE);
  await turn();
  t.same(agent.askedJobs(), names(3));
  agent.asked[0]!.arrive();
  await turn();
  t.equal(agent.askedJobs().at(-1), 'next');
});

t.test('without a lease nothing runs: jobs that come go back, until core has answered a heartbeat', async (t) => {
  const agent = await wired(t);
  await agent.desire({ w: 'e' });
  const reported: string[] = [];
  agent.openTake('w', { reported });
  // The welcome came after more time than the lease lasts, counted from the hello.
  agent.lease.isHeld = false;
  agent.assign(agent.refOf('early', 'w'));
  await turn();
  t.same(reported, []);
  t.equal(agent.table.size, 0);
  t.match(agent.message()!.outcomes, [{ ref: { jobId: 'early' }, kind: OutcomeKind.RETURNED }]);

  agent.lease.isHeld = true;
  agent.assign(agent.refOf('early', 'w', 2));
  await turn();
  t.equal(reported.length, 1);
});
