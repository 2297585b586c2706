import { decodeRecords, encodeRecord, PAYLOAD_OFFSET } from '@slipway/gpu-agent/spool/record';
import { workNow } from '@slipway/kit/bytes/sliced-work';
import t from 'tap';

const encode = (kind: number, ...payload: string[]): Buffer =>
  Buffer.concat(
    workNow(
      encodeRecord(
        kind,
        payload.map((piece) => Buffer.from(piece)),
      ),
    ),
  );
const file = Buffer.concat([encode(1, 'one'), encode(2), encode(1, 'th', '', 'ree')]);
const read = (bytes: Buffer) => {
  const { records, torn } = decodeRecords(bytes);
  return { texts: records.map(({ kind, payload }) => `${kind}:${payload}`), torn };
};

t.test('whole', async (t) => {
  t.same(read(file), { texts: ['1:one', '2:', '1:three'], torn: 0 });
  t.same(read(Buffer.alloc(0)), { texts: [], torn: 0 });
  const { records } = decodeRecords(file);
  t.equal(records[0]!.offset, PAYLOAD_OFFSET);
  t.equal(String(file.subarray(records[2]!.offset, records[2]!.offset + 5)), 'three');
});

t.test('a large record, in pieces', async (t) => {
  const pieces = ['a'.repeat(100_000), '', 'b'.repeat(200_001), 'c'];
  t.same(read(encode(1, ...pieces)), { texts: [`1:${pieces.join('')}`], torn: 0 });
});

t.test('truncated anywhere, earlier records are read', async (t) => {
  const ends = [12, 21, file.length];
  for (let length = 0; length <= file.length; length += 1) {
    const whole = ends.filter((end) => end <= length).length;
    t.equal(read(file.subarray(0, length)).texts.length, whole, `cut at ${length}`);
  }
});

t.test('reading ends at a corrupted byte', async (t) => {
  for (let at = 0; at < file.length; at += 1) {
    const changed = Buffer.from(file);
    changed[at]! ^= 0x20;
    const { texts } = read(changed);
    t.ok(texts.length < 3, `byte ${at}`);
    t.same(texts, ['1:one', '2:', '1:three'].slice(0, texts.length));
  }
});

t.test('trailing zeros, as some file systems leave them', async (t) => {
  t.same(read(Buffer.concat([file, Buffer.alloc(4_096)])), { texts: ['1:one', '2:', '1:three'], torn: 4_096 });
});
