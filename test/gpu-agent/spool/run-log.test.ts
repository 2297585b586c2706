/**
 * Records that a run of the agent left, even if others have written into them: intact records are used, and nothing
 * keeps the next run from starting.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { RunLog, readRunLog } from '@slipway/gpu-agent/spool/run-log';
import { machineDisk } from '@slipway/kit/host/disk';
import { createLogger } from '@slipway/kit/log/logger';
import t from 'tap';

const CHUNKS = 100_000;
const logger = createLogger('test', 'silent');
const worker = {
  endpointId: 'e',
  token: 't',
  image: 'i',
  gpuUuids: ['GPU-1'],
  concurrency: 1,
  version: 1,
  initTimeoutSeconds: 1,
  sdk: '',
  asked: true,
  frozen: false,
  refresh: false,
};

t.test('foreign lines', async (t) => {
  const folder = t.testdir({});
  const log = new RunLog({ folder, logger, disk: machineDisk });
  await log.open();
  const ref = { endpointId: 'e', jobId: 'j', workerId: 'w', attempt: 1 };
  log.worker('w', worker);
  log.attempt({ ref, chunkNumber: 0, yielded: 0 });
  log.chunk({ ref, number: 1, output: Buffer.from('1'), metrics: undefined });
  await log.close();
  const foreign = [
    ['worker/x', 5],
    ['worker/y', {}],
    ['worker/z', { ...worker, gpuUuids: 'GPU-1' }],
    ['pod/p', null],
    ['pod/q', { image: 'i' }],
    ['attempt/a', { chunkNumber: 1 }],
    ['attempt/b', { ref: { jobId: 'b' }, chunkNumber: 1 }],
    ['chunk/c', { number: 1, output: '' }],
    ['chunk/d', { ref, number: 2, output: 7 }],
    ['run', 'x'],
  ];
  appendFileSync(join(folder, 'run.log'), foreign.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const next = new RunLog({ folder, logger, disk: machineDisk });
  t.teardown(() => next.close());
  const { run, workers, pods, attempts, chunks } = await next.open();
  t.same([...workers], [['w', worker]]);
  t.match(attempts, [{ ref }]);
  t.same(
    [...chunks.values()].flat().map(({ number }) => number),
    [1],
  );
  t.same([pods.size, run], [0, undefined]);
});

// One copy of all for each took many times as long as a test may.
t.test('very many chunks of one attempt are read', async (t) => {
  const folder = t.testdir({});
  const ref = { endpointId: 'e', jobId: 'j', workerId: 'w', attempt: 1 };
  const lines = Array.from(
    { length: CHUNKS },
    (_, number) => `${JSON.stringify([`chunk/e/j/1/${number}`, { ref, number, output: '1' }])}\n`,
  );
  appendFileSync(join(folder, 'run.log'), lines.join(''));
  const { chunks } = await readRunLog(folder, machineDisk);
  t.equal(chunks.get('e/j/1')?.length, CHUNKS);
});
