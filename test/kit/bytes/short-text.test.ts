// test: alone
/** Beginnings of long texts do not keep these in memory. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { shortText } from '@slipway/kit/bytes/short-text';
import t from 'tap';
import { waitFor } from '../../helpers/time/wait-for.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const MIB = 1024 * 1024;

t.test('the first characters, whatever they are', async (t) => {
  t.equal(shortText('short', 64), 'short');
  t.equal(shortText('ä€😀abc', 4), 'ä€😀');
  t.equal(shortText('a😀b', 2), 'a😀'.slice(0, 2), 'half of a character stays half');
});

t.test('the rest is freed', async (t) => {
  const used = (): number => {
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const before = used();
  const long = (n: number): string => Buffer.alloc(5 * MIB, 97 + n).toString('latin1');
  const kept = Array.from({ length: 20 }, (_, n) => [shortText(long(n), 64), shortText(long(n).slice(0, 50), 64)]);
  // One collection may leave strings that the next one frees.
  await waitFor('the long texts to be freed', () => used() - before < 20 * MIB);
  t.same(kept.at(-1), ['t'.repeat(64), 't'.repeat(50)]);
});
