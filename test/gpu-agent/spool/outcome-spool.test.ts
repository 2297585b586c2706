// test: alone
import { appendFileSync, readdirSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { attemptKey } from '@slipway/gpu-agent/spool/attempt-key';
import { Journal } from '@slipway/gpu-agent/spool/journal';
import { OutcomeSpool } from '@slipway/gpu-agent/spool/outcome-spool';
import { PAYLOAD_OFFSET, RecordKind } from '@slipway/gpu-agent/spool/record';
import type { SpoolEntry } from '@slipway/gpu-agent/spool/spool-entry';
import { machineDisk } from '@slipway/kit/host/disk';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';
import { measureLoop } from '../../helpers/time/loop-meter.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { chunkOf, outcomeOf, refOf } from '../make-outcome.ts';

const logger = createLogger('test', 'silent');
const key = (jobId: string): string => attemptKey(refOf(jobId));
const jobsOf = (entries: SpoolEntry[]): string[] => entries.map((entry) => entry.outcome.ref!.jobId);
const files = (folder: string): string[] => readdirSync(folder).sort();
const bytesOf = (folder: string): number =>
  files(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);

async function open(folder: string, segmentBytesMax?: number): Promise<{ spool: OutcomeSpool; found: SpoolEntry[] }> {
  // A spool that a test leaves open stands for that of a killed agent.
  const spool = new OutcomeSpool({
    folder,
    logger,
    clock: systemClock,
    disk: machineDisk,
    ...(segmentBytesMax === undefined ? {} : { segmentBytesMax }),
  });
  t.teardown(() => spool.close());
  return { spool, found: await spool.open() };
}

t.test('unacknowledged outcomes come back, with their chunks', async (t) => {
  const folder = join(t.testdir({}), 'spool');
  const { spool, found } = await open(folder);
  t.same(found, []);
  await Promise.all([
    spool.add({ outcome: outcomeOf('a'), chunks: [chunkOf('a', 1), chunkOf('a', 2)] }),
    spool.add({ outcome: outcomeOf('b'), chunks: [] }),
    spool.add({ outcome: outcomeOf('c'), chunks: [] }),
  ]);
  spool.acknowledge(key('b'));
  t.equal(spool.size, 2);
  t.same((await spool.read(key('c')))?.outcome, outcomeOf('c'));
  t.equal(await spool.read(key('b')), undefined);
  await spool.close();

  const again = await open(folder);
  t.same(jobsOf(again.found), ['a', 'c']);
  t.same(again.found[0], { outcome: outcomeOf('a'), chunks: [chunkOf('a', 1), chunkOf('a', 2)] });
  again.spool.acknowledge(key('a'));
  again.spool.acknowledge(key('c'));
  await again.spool.close();
  t.same((await open(folder)).found, []);
});

t.test('large outcomes block the loop in short pieces only', async (t) => {
  const folder = join(t.testdir({}), 'spool');
  const { spool } = await open(folder);
  const outcomes = ['a', 'b', 'c'].map((jobId) => outcomeOf(jobId, Buffer.alloc(20 * 1024 * 1024, jobId)));
  const chunks = Array.from({ length: 20 }, (_, index) => ({
    ...chunkOf('a', index + 1),
    output: Buffer.alloc(1_000_000, 'x'),
  }));
  const end = measureLoop();
  await Promise.all(outcomes.map((outcome, index) => spool.add({ outcome, chunks: index === 0 ? chunks : [] })));
  const [longest = 0] = end();
  t.ok(longest <= 40, `the longest turn took ${longest} ms`);
  await spool.close();
  const { found } = await open(folder);
  t.same(
    found.map(({ outcome }) => outcome.ref),
    outcomes.map(({ ref }) => ref),
  );
  t.ok(
    found.every(({ outcome }, index) => outcome.output!.equals(outcomes[index]!.output!)),
    'they come back as they were',
  );
  t.equal(found[0]!.chunks.length, 20);
  t.ok(
    found[0]!.chunks.every((chunk, index) => chunk.number === index + 1 && chunk.output.equals(chunks[index]!.output)),
    'with their chunks',
  );
});

t.test('an agent that was killed without closing', async (t) => {
  const folder = join(t.testdir({}), 'spool');
  const { spool } = await open(folder);
  await spool.add({ outcome: outcomeOf('a'), chunks: [] });
  await spool.add({ outcome: outcomeOf('b', Buffer.alloc(2_000_000, 'x')), chunks: [] });
  t.same(jobsOf((await open(folder)).found), ['a', 'b']);
});

t.test('a torn end costs only the unacknowledged record', async (t) => {
  const folder = join(t.testdir({}), 'spool');
  const { spool } = await open(folder);
  await spool.add({ outcome: outcomeOf('a'), chunks: [] });
  await spool.add({ outcome: outcomeOf('b'), chunks: [] });
  await spool.add({ outcome: outcomeOf('c'), chunks: [] });
  const path = join(folder, files(folder)[0]!);
  truncateSync(path, statSync(path).size - 3);
  const second = await open(folder);
  t.same(jobsOf(second.found), ['a', 'b']);
  await second.spool.add({ outcome: outcomeOf('d'), chunks: [] });
  appendFileSync(join(folder, files(folder).at(-1)!), Buffer.from([9, 0, 0, 0, 1, 2]));
  t.same(jobsOf((await open(folder)).found), ['a', 'b', 'd']);
});

t.test('an acknowledgement that overtakes the write', async (t) => {
  const folder = join(t.testdir({}), 'spool');
  const { spool } = await open(folder);
  const written = spool.add({ outcome: outcomeOf('a'), chunks: [] });
  spool.acknowledge(key('a'));
  await written;
  t.equal(spool.size, 0);
  await spool.close();
  t.same((await open(folder)).found, []);
});

t.test('one acknowledgement message is one record, readable after a kill', async (t) => {
  const folder = join(t.testdir({}), 'spool');
  const { spool } = await open(folder);
  const jobs = Array.from({ length: 200 }, (_, index) => `job-${index}`);
  await Promise.all(['left', ...jobs].map((job) => spool.add({ outcome: outcomeOf(job), chunks: [] })));
  const before = bytesOf(folder);
  for (const job of jobs) spool.acknowledge(key(job));
  const written = await waitFor('the acknowledgements on disk', () => bytesOf(folder) - before);
  const names = jobs.map((job) => key(job)).join('\n').length;
  t.equal(written, names + PAYLOAD_OFFSET);
  t.same(jobsOf((await open(folder)).found), ['left']);
});

t.test('it does not grow', async (t) => {
  const folder = join(t.testdir({}), 'spool');
  const { spool } = await open(folder, 10_000);
  // Never acknowledged until the end: what stays behind must not hold every segment.
  await spool.add({ outcome: outcomeOf('stays'), chunks: [] });
  for (let round = 0; round < 100; round += 1) {
    const jobs = Array.from({ length: 50 }, (_, i) => `job-${round}-${i}`);
    await Promise.all(jobs.map((job) => spool.add({ outcome: outcomeOf(job), chunks: [] })));
    for (const job of jobs) spool.acknowledge(key(job));
  }
  t.equal(spool.size, 1);
  await waitFor('old segments to go', () => files(folder).length <= 6);
  t.ok(bytesOf(folder) < 100_000, `${bytesOf(folder)} bytes are left of 5,000 outcomes`);
  await spool.close();
  const again = await open(folder, 10_000);
  t.same(jobsOf(again.found), ['stays']);
  again.spool.acknowledge(key('stays'));
  await again.spool.close();
  t.same((await open(folder)).found, []);
});

t.test('files of a version whose acknowledgements did not name the endpoint', async (t) => {
  const folder = join(t.testdir({}), 'spool');
  const { spool } = await open(folder);
  for (const job of ['a', 'b', 'both']) await spool.add({ outcome: outcomeOf(job), chunks: [] });
  await spool.add({ outcome: { ...outcomeOf('both'), ref: refOf('both', 1, 'other') }, chunks: [] });
  await spool.close();
  const journal = new Journal({ folder, segmentBytesMax: 1_000_000, logger, clock: systemClock, disk: machineDisk });
  await journal.open(() => {});
  for (const name of ['a#1', 'both#1', 'nothing#1'])
    await journal.append(RecordKind.ACKNOWLEDGED, [Buffer.from(name)], true);
  await journal.close();

  const again = await open(folder);
  t.same(jobsOf(again.found), ['b', 'both', 'both'], 'an acknowledgement that may be of either is of none');
  t.equal((await again.spool.read(key('b')))?.outcome.ref?.jobId, 'b');
  t.equal(again.spool.size, 3);
});
