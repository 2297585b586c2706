/** Outcomes on their way: onto the disk and onto the wire, again for every session, until core has them. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ChunkLog } from '@slipway/gpu-agent/attempts/chunk-log';
import { OutcomeReporter } from '@slipway/gpu-agent/attempts/outcome-reporter';
import type { LargeOutcome } from '@slipway/gpu-agent/attempts/to-core';
import { attemptKey } from '@slipway/gpu-agent/spool/attempt-key';
import { OutcomeSpool } from '@slipway/gpu-agent/spool/outcome-spool';
import { machineDisk } from '@slipway/kit/host/disk';
import { createLogger } from '@slipway/kit/log/logger';
import { MessageBudget } from '@slipway/kit/net/batch-queue';
import type { Clock } from '@slipway/kit/time/clock';
import { systemClock } from '@slipway/kit/time/clock';
import type { Test } from 'tap';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { chunkOf, outcomeOf, refOf } from '../make-outcome.ts';

const LARGE = Buffer.from(JSON.stringify('x'.repeat(300_000)));

/** Returns a reporter on a spool in `folder`, and what it has sent. */
async function reporterIn(t: Test, folder: string, clock: Clock = systemClock) {
  const logger = createLogger('test', 'silent');
  const spool = new OutcomeSpool({ folder, logger, clock: systemClock, disk: machineDisk });
  const sent: string[] = [];
  const large: LargeOutcome[] = [];
  const chunks = new ChunkLog();
  chunks.onWaiting = () => {
    for (const { ref, number } of chunks.take(new MessageBudget())) sent.push(`${ref!.jobId} ${number}`);
  };
  const reporter = new OutcomeReporter({
    spool,
    chunks,
    clock,
    logger,
    toCore: {
      addOutcome: ({ ref }) => {
        sent.push(ref!.jobId);
      },
    },
    large: {
      send: (outcome) => {
        large.push(outcome);
      },
    },
  });
  const recovered = await reporter.recover();
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (isOpen) await spool.close();
    isOpen = false;
  };
  t.teardown(close);
  return { reporter, chunks, spool, sent, large, recovered, close };
}

t.test('an outcome is sent at once, and repeated until acknowledged', async (t) => {
  const { reporter, sent, spool } = await reporterIn(t, t.testdir({}));
  await reporter.report(outcomeOf('a'));
  reporter.sendAll();
  t.same([sent, reporter.refs(), spool.size], [['a', 'a'], [refOf('a')], 1]);
  const acknowledged: string[] = [];
  reporter.listen((workerId) => acknowledged.push(workerId));
  const idle = reporter.idle();
  reporter.acknowledge(refOf('a'));
  reporter.acknowledge(refOf('a'));
  await idle;
  reporter.sendAll();
  t.same([sent.length, reporter.refs(), spool.size, acknowledged], [2, [], 0, [refOf('a').workerId]]);
});

t.test('its worker counts as owing until the last acknowledgement', async (t) => {
  const { reporter } = await reporterIn(t, t.testdir({}));
  const { workerId } = refOf('a');
  await Promise.all([reporter.report(outcomeOf('a')), reporter.report(outcomeOf('b'))]);
  reporter.acknowledge(refOf('a'));
  t.ok(reporter.hasUnacknowledged(workerId));
  reporter.acknowledge(refOf('b'));
  t.notOk(reporter.hasUnacknowledged(workerId));
});

t.test('a large outcome is sent separately, after its chunks', async (t) => {
  const { reporter, chunks, large, sent } = await reporterIn(t, t.testdir({}));
  chunks.add(chunkOf('a', 1));
  await reporter.report(outcomeOf('a', LARGE));
  t.same([sent, large.map(({ key }) => key)], [['a 1'], [attemptKey(refOf('a'))]]);
  t.notOk(large[0]!.isReady());
  chunks.acknowledge({ ref: refOf('a'), number: 1 });
  t.ok(large[0]!.isReady());
  t.ok((await large[0]!.load())?.output?.equals(LARGE), 'from the disk: it is not kept in memory');
  large[0]!.acknowledge();
  t.equal(await large[0]!.load(), undefined);
});

t.test('the next agent run sends what this one left, chunks first', async (t) => {
  const folder = t.testdir({});
  const first = await reporterIn(t, folder);
  first.chunks.add(chunkOf('a', 1));
  await Promise.all([first.reporter.report(outcomeOf('a')), first.reporter.report(outcomeOf('large', LARGE))]);
  await first.close();
  const { recovered, chunks, reporter, sent, large } = await reporterIn(t, folder);
  t.equal(recovered, 2);
  sent.length = 0;
  chunks.sendAll();
  reporter.sendAll();
  t.same(sent, ['a 1', 'a']);
  t.ok((await large[0]!.load())?.output?.equals(LARGE));
});

t.test('only outcomes not acknowledged in time go to the disk, with their chunks', async (t) => {
  const folder = t.testdir({});
  const clock = new ManualClock();
  const { reporter, chunks, spool, close } = await reporterIn(t, folder, clock);
  const [first] = readdirSync(folder);
  const bytes = (): number => statSync(join(folder, first!)).size;
  const empty = bytes();
  const safe: string[] = [];
  const report = (job: string): void => void reporter.report(outcomeOf(job)).then(() => safe.push(job));
  report('quick');
  reporter.acknowledge(refOf('quick'));
  chunks.add(chunkOf('slow', 1));
  report('slow');
  clock.pass(10);
  report('slower');
  await waitFor('the answer to the worker', () => safe.length > 0);
  t.same([safe, spool.size, bytes()], [['quick'], 0, empty], 'nothing was written for it');
  clock.pass(10);
  await waitFor('the answer to the next', () => safe.length > 1);
  t.same([safe, spool.size], [['quick', 'slow'], 1]);
  reporter.acknowledge(refOf('slow'));
  report('last');
  reporter.writeAll();
  await waitFor('the last answers', () => safe.length === 4);
  t.equal(spool.size, 2, 'an agent that ends writes the rest at once');
  clock.pass(100);
  await close();
  const { recovered, reporter: next } = await reporterIn(t, folder);
  t.equal(recovered, 2);
  t.same(next.refs(), [refOf('slower'), refOf('last')]);
});

t.test('an outcome without a waiting worker is written later, or when the agent ends', async (t) => {
  const clock = new ManualClock();
  const { reporter, spool } = await reporterIn(t, t.testdir({}), clock);
  const safe: string[] = [];
  const report = (job: string, mayWait: boolean): void =>
    void reporter.report(outcomeOf(job), { mayWait }).then(() => safe.push(job));
  report('waited for', false);
  report('late', true);
  report('acknowledged', true);
  for (let tenth = 0; tenth < 9; tenth += 1) clock.pass(10);
  await waitFor('the answer to the worker', () => safe.length > 0);
  t.same([safe, spool.size], [['waited for'], 1]);
  reporter.acknowledge(refOf('acknowledged'));
  clock.pass(10);
  clock.pass(100);
  await waitFor('the others', () => safe.length === 3);
  t.same([safe.includes('late'), spool.size], [true, 2], 'what core acknowledged is not on the disk');
  report('last', true);
  reporter.writeAll();
  await waitFor('the last', () => safe.length === 4);
  t.equal(spool.size, 3);
});
