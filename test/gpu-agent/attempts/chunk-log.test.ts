import t from 'tap';
import { ChunkLog } from '../../../gpu-agent/attempts/chunk-log.ts';
import { attemptKey } from '../../../gpu-agent/spool/attempt-key.ts';
import { chunkOf, refOf } from '../make-outcome.ts';

function setup(bytesMax?: number): { log: ChunkLog; sent: string[] } {
  const sent: string[] = [];
  const send = (chunk: ReturnType<typeof chunkOf>): void => { sent.push(`${chunk.ref!.jobId}${chunk.number}`); };
  return { log: new ChunkLog({ send, ...(bytesMax === undefined ? {} : { bytesMax }) }), sent };
}

t.test('sent at once, again after a reconnect, until acknowledged', async (t) => {
  const { log, sent } = setup();
  for (const number of [1, 2, 3]) log.add(chunkOf('a', number));
  log.add(chunkOf('b', 1));
  log.acknowledge({ ref: refOf('a'), number: 2 });
  t.same(log.unacknowledged(attemptKey(refOf('a'))).map((chunk) => chunk.number), [3]);
  log.sendAll();
  t.same(sent, ['a1', 'a2', 'a3', 'b1', 'a3', 'b1']);
  log.forget(attemptKey(refOf('b')));
  log.acknowledge({ ref: refOf('unknown'), number: 9 });
  log.sendAll();
  t.same(sent.slice(6), ['a3']);
});

t.test('metrics count as well', async (t) => {
  const { log } = setup(510);
  log.add({ ...chunkOf('a', 1, 'x'), metrics: Buffer.from('{"tokens":12}') });
  let waited = true;
  const room = log.room().then(() => { waited = false; });
  await Promise.resolve();
  t.equal(waited, true);
  log.acknowledge({ ref: refOf('a'), number: 1 });
  await room;
});

t.test('full: the next one waits for room', async (t) => {
  const { log } = setup(510);
  log.add(chunkOf('a', 1, 'x'.repeat(12)));
  let waited = true;
  const room = log.room().then(() => { waited = false; });
  await Promise.resolve();
  t.equal(waited, true);
  log.acknowledge({ ref: refOf('a'), number: 1 });
  await room;
  t.equal(waited, false);
});

t.test('tiny ones count as what they take', async (t) => {
  const { log } = setup(100_000);
  for (let number = 1; number <= 1_000; number += 1) log.add(chunkOf('a', number, '1'));
  let waited = true;
  const room = log.room().then(() => { waited = false; });
  await Promise.resolve();
  t.equal(waited, true);
  for (let number = 1; number <= 900; number += 1) log.acknowledge({ ref: refOf('a'), number });
  await room;
  t.equal(log.unacknowledged(attemptKey(refOf('a')))[0]?.number, 901);
});
