/** The end of the plain bytes of a string, found in words: at every place and alignment, for every byte. */

import { plainEnd } from '@slipway/kit/bytes/json-bytes';
import t from 'tap';

const BYTES = 300;
const isPlain = (byte: number): boolean => byte >= 0x20 && byte !== 0x22 && byte !== 0x5c;

t.test('every byte, wherever it stands', async (t) => {
  const faults: string[] = [];
  for (const filling of [0x20, 0x21, 0x23, 0x61, 0x7f, 0x80, 0xff]) {
    for (let byte = 0; byte < 256; byte += 1) {
      // All alignments, near and far from the beginning and the end.
      for (let from = 0; from < 4; from += 1) {
        for (const place of [...Array(12).keys(), 64, 65, 66, 67, 68, 150, 151, 152, 153, 250, 251, 252, 253]) {
          const text = Buffer.alloc(BYTES, filling);
          const at = from + place;
          text[at] = byte;
          const until = 260;
          const expected = at < until && !isPlain(byte) ? at : until;
          const found = plainEnd(text, from, until);
          if (found !== expected) faults.push(`${byte} at ${at} from ${from} among ${filling}: ${found}`);
        }
      }
    }
  }
  t.same(faults, []);
});

t.test('every length, from every place in a larger buffer', async (t) => {
  const all = Buffer.alloc(4 * BYTES, 'a');
  const faults: string[] = [];
  for (let offset = 0; offset < 8; offset += 1) {
    for (let length = 0; length < BYTES; length += 1) {
      const text = all.subarray(offset, offset + length);
      all[offset + length] = 0x22;
      if (plainEnd(text, 0, length) !== length) faults.push(`${length} at ${offset}`);
      if (plainEnd(all, offset, all.length) !== offset + length) faults.push(`quote ${length} at ${offset}`);
      all[offset + length] = 0x61;
    }
  }
  t.same(faults, []);
});
