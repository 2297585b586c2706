/** Values cut into chunks: every piece is JSON within the limit, and together the pieces equal any yielded value. */

import { cutText, elementCount, splitChunk } from '@slipway/gpu-agent/bridge/split-chunk';
import { workNow } from '@slipway/kit/bytes/sliced-work';
import fc from 'fast-check';
import t from 'tap';
import { SEED } from '../../helpers/time/seeded-random.ts';

const RUNS = { seed: SEED, numRuns: 2_000 };
/** An escaped pair of surrogates and its quotes: the longest that cannot be cut. */
const BYTES_MIN = 14;
const bytesMax = fc.integer({ min: BYTES_MIN, max: 200 });

/** A text as JSON has it, some of its characters as escapes. */
const text = fc
  .tuple(fc.string({ unit: 'binary', maxLength: 200 }), fc.array(fc.boolean(), { minLength: 1, maxLength: 7 }))
  .map(([value, escaped]) => {
    const units = [...Array(value.length).keys()].map((at) => value.charCodeAt(at));
    const isHalf = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;
    // Half of a surrogate pair must not stand beside a half that is written in the other form.
    const all = escaped[0]! || units.some(isHalf);
    const written = units.map((unit, at) =>
      all || escaped[at % escaped.length]
        ? `\\u${unit.toString(16).padStart(4, '0')}`
        : JSON.stringify(String.fromCharCode(unit)).slice(1, -1),
    );
    return `"${written.join('')}"`;
  });
const plainText = fc.string({ unit: 'grapheme', maxLength: 200 }).map((value) => JSON.stringify(value));
const array = fc
  .tuple(fc.array(fc.jsonValue({ maxDepth: 2 }), { maxLength: 30 }), fc.constantFrom(undefined, 1))
  .map(([value, gap]) => JSON.stringify(value, undefined, gap));

const split = (value: string, most: number): string[] | undefined =>
  workNow(splitChunk(Buffer.from(value), most))?.map(String);

function checkSizes(pieces: readonly string[], value: string, most: number): void {
  const large = pieces.find((piece) => Buffer.byteLength(piece) > most);
  if (large !== undefined) throw new Error(`a piece has ${Buffer.byteLength(large)} bytes`);
  if (Buffer.byteLength(value) <= most && pieces.length !== 1) throw new Error('what is small enough was cut');
}

t.test('texts', async (t) => {
  fc.assert(
    fc.property(fc.oneof(text, plainText), bytesMax, (value, most) => {
      const pieces = split(value, most)!;
      checkSizes(pieces, value, most);
      const parts = pieces.map((piece) => JSON.parse(piece) as string);
      if (parts.join('') !== JSON.parse(value)) throw new Error('together they are something else');
      // No piece ends in the middle of a character.
      for (const [at, part] of parts.entries()) {
        const next = parts[at + 1] ?? '';
        if (/[\ud800-\udbff]$/.test(part) && /^[\udc00-\udfff]/.test(next))
          throw new Error('a pair of surrogates was cut');
      }
      const first = cutText(Buffer.from(value), most).toString();
      if (pieces.length > 1 && first !== pieces[0]) throw new Error('the first piece is another one');
    }),
    RUNS,
  );
  t.pass();
});

t.test('arrays', async (t) => {
  fc.assert(
    fc.property(array, bytesMax, (value, most) => {
      const whole = JSON.parse(value) as unknown[];
      if (workNow(elementCount(Buffer.from(value), 1_000)) !== whole.length)
        throw new Error('it counts its elements wrongly');
      const pieces = split(value, most);
      if (!pieces) {
        // Blanks around an element go with it, so the bound is that of the text as it is written.
        const least = Math.max(...whole.map((element) => Buffer.byteLength(JSON.stringify(element))));
        if (!value.includes('\n') && least <= most - 2)
          throw new Error(`all elements fit, the longest has ${least} bytes`);
        return;
      }
      checkSizes(pieces, value, most);
      const parts = pieces.map((piece) => JSON.parse(piece) as unknown[]);
      if (JSON.stringify(parts.flat(1)) !== JSON.stringify(whole)) throw new Error('together they are something else');
      if (pieces.length > 1 && parts.some((part) => part.length === 0)) throw new Error('a piece is empty');
    }),
    RUNS,
  );
  t.pass();
});

t.test('nothing else is cut', async (t) => {
  const other = fc.oneof(
    fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }),
    fc.double({ noNaN: true }),
    fc.boolean(),
  );
  fc.assert(
    fc.property(other, bytesMax, (value, most) => {
      const json = JSON.stringify(value);
      const pieces = split(json, most);
      if (Buffer.byteLength(json) <= most ? pieces?.[0] !== json : pieces !== undefined) throw new Error('it was cut');
    }),
    RUNS,
  );
  t.pass();
});
