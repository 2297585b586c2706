/** Outcomes acknowledged to a worker stay on disk, whatever the disk and the power do. */

import { attemptKey } from '@slipway/gpu-agent/spool/attempt-key';
import { OutcomeSpool } from '@slipway/gpu-agent/spool/outcome-spool';
import type { SpoolEntry } from '@slipway/gpu-agent/spool/spool-entry';
import type { Disk } from '@slipway/kit/host/disk';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock } from '@slipway/kit/time/clock';
import fc from 'fast-check';
import t from 'tap';
import type { DiskCall } from '../../helpers/memory-disk.ts';
import { MemoryDisk } from '../../helpers/memory-disk.ts';
import { SEED, seededRandom } from '../../helpers/time/seeded-random.ts';
import { outcomeOf, refOf } from '../make-outcome.ts';

const logger = createLogger('test', 'silent');
const key = (jobId: string): string => attemptKey(refOf(jobId));
const CALLS: DiskCall[] = ['open', 'write', 'datasync', 'sync', 'rm'];

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('add' as const), count: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('acknowledge' as const), which: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('fail' as const), calls: fc.subarray(CALLS) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('power' as const), waits: fc.boolean() }) },
);

t.test('faults and power losses in any order: accepted unacknowledged outcomes come back', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.integer(), async (steps, seed) => {
      const disk = new MemoryDisk(seededRandom(seed));
      const open = async (): Promise<{ spool: OutcomeSpool; found: SpoolEntry[] }> => {
        // Short segments: the next one, tidying and compaction come often.
        const spool = new OutcomeSpool({
          folder: '/spool',
          logger,
          clock: systemClock,
          disk: disk.boot(),
          segmentBytesMax: 300,
        });
        return { spool, found: await spool.open() };
      };
      let { spool } = await open();
      let jobs = 0;
      /** Taken for certain and not acknowledged. */
      const kept = new Set<string>();
      const added = new Set<string>();
      for (const action of [...steps, { do: 'power' as const, waits: true }]) {
        if (action.do === 'add') {
          const names = Array.from({ length: action.count }, () => `job-${(jobs += 1)}`);
          for (const name of names) added.add(name);
          await Promise.allSettled(
            names.map(async (name) => {
              await spool.add({ outcome: outcomeOf(name), chunks: [] });
              kept.add(name);
            }),
          );
        } else if (action.do === 'acknowledge') {
          const name = [...kept][action.which % Math.max(1, kept.size)];
          if (name === undefined) continue;
          kept.delete(name);
          spool.acknowledge(key(name));
        } else if (action.do === 'fail') {
          disk.fail(action.calls);
        } else {
          const late = `job-${(jobs += 1)}`;
          added.add(late);
          // One is on its way in that moment.
          if (!action.waits) void spool.add({ outcome: outcomeOf(late), chunks: [] }).catch(() => undefined);
          disk.losePower();
          const next = await open();
          spool = next.spool;
          const back = new Set(next.found.map(({ outcome }) => outcome.ref!.jobId));
          for (const name of kept) if (!back.has(name)) throw new Error(`${name} is lost`);
          for (const name of back) if (!added.has(name)) throw new Error(`${name} was never added`);
          // Outcomes found again must not be lost from now on.
          for (const name of back) kept.add(name);
        }
      }
      await spool.close().catch(() => undefined);
    }),
    { seed: SEED, numRuns: 400 },
  );
  t.pass('nothing was lost');
});

t.test('a disk full for long: no file per failed write, and none is left open', async (t) => {
  const disk = new MemoryDisk(seededRandom(1));
  const booted = disk.boot();
  let openFiles = 0;
  const counting: Disk = {
    ...booted,
    open: async (...args) => {
      const file = await booted.open(...args);
      openFiles += 1;
      return {
        ...file,
        close: async () => {
          openFiles -= 1;
        },
      };
    },
  };
  const spool = new OutcomeSpool({ folder: '/spool', logger, clock: systemClock, disk: counting });
  await spool.open();
  await spool.add({ outcome: outcomeOf('before'), chunks: [] });
  disk.fail(['write']);
  for (let count = 0; count < 20; count += 1)
    await t.rejects(spool.add({ outcome: outcomeOf(`full-${count}`), chunks: [] }), { code: 'ENOSPC' });
  t.ok((await booted.readdir('/spool')).length <= 2);
  disk.fail([]);
  await spool.add({ outcome: outcomeOf('after'), chunks: [] });
  disk.fail(['write']);
  await t.rejects(spool.close(), { code: 'ENOSPC' });
  t.equal(openFiles, 0);
  disk.fail([]);
  t.same(await jobsLeft(disk.boot()), ['before', 'after']);
});

/** Jobs whose outcomes the next run finds. */
async function jobsLeft(disk: Disk): Promise<string[]> {
  const found = await new OutcomeSpool({ folder: '/spool', logger, clock: systemClock, disk }).open();
  return found.map(({ outcome }) => outcome.ref!.jobId);
}
