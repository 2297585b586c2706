/** Bytes of a worker's requests that the agent keeps use about as much memory as is accounted for them. */

import { ChunkLog } from '@slipway/gpu-agent/attempts/chunk-log';
import { ownBytes } from '@slipway/gpu-agent/attempts/own-bytes';
import { attemptKey } from '@slipway/gpu-agent/spool/attempt-key';
import t from 'tap';
import { chunkOf, refOf } from '../make-outcome.ts';
import { wired } from './wired.ts';

const MEBIBYTE = 1024 * 1024;
const kept = (bytes: Uint8Array | undefined): number => bytes!.buffer.byteLength;

t.test('copied when it keeps much beside itself, and only then', async (t) => {
  const large = Buffer.allocUnsafeSlow(MEBIBYTE).fill('x');
  for (const length of [0, 1, 1_000, MEBIBYTE / 2 - 1]) {
    const own = ownBytes(large.subarray(7, 7 + length));
    t.equal(own.toString(), 'x'.repeat(length));
    t.equal(kept(own), length);
  }
  for (const length of [MEBIBYTE / 2, MEBIBYTE])
    t.equal(kept(ownBytes(large.subarray(0, length))), MEBIBYTE, 'at most twice as much');
  const small = Buffer.allocUnsafeSlow(1_000);
  t.equal(kept(ownBytes(small.subarray(0, 10))), 1_000);
});

t.test('streamed values, progress and results', async (t) => {
  const large = Buffer.allocUnsafeSlow(MEBIBYTE).fill('1');
  const log = new ChunkLog();
  log.add({ ...chunkOf('a', 1), output: large.subarray(0, 1), metrics: large.subarray(1, 2) });
  const [chunk] = log.unacknowledged(attemptKey(refOf('a')));
  t.same([kept(chunk!.output), kept(chunk!.metrics)], [1, 1]);

  const agent = await wired(t);
  await agent.desire({ w: 'e' });
  const ref = agent.refOf('j', 'w');
  await agent.give(ref);
  agent.message();
  agent.outbox.addProgress({ ref, output: large.subarray(0, 1) });
  t.equal(kept(agent.message()!.progress[0]!.output), 1);
  await agent.outcomes.report({ ref, kind: 1, output: large.subarray(0, 1), error: '' });
  t.equal(kept(agent.message()!.outcomes[0]!.output), 1);
});
