/** How many entries are read for a page: many small ones, few with long texts. */
import { cut, PAGE_BYTES_MAX, TEXT_WEIGHT } from '@slipway/core/store/sql/page';
import t from 'tap';

const KB = 1_000;

/** Entries on the first page of a list of entries of that many bytes. */
function onPage(bytes: number): number {
  const found = Array.from({ length: 1_001 }, (_, at) => ({ id: `e${at}`, at, bytes }));
  return cut(found, 1_000).ids.length;
}

t.test('small entries fill a page by their number, others by their bytes', async (t) => {
  t.equal(onPage(2 * KB), 1_000);
  t.equal(onPage(4 * KB), Math.ceil(PAGE_BYTES_MAX / (4 * KB)));
});

t.test('long texts end a page after a fraction of its bytes, and the last entry', async (t) => {
  const most = PAGE_BYTES_MAX / TEXT_WEIGHT;
  for (const bytes of [16 * KB, 64 * KB, 240 * KB, 5_000 * KB]) {
    const count = onPage(bytes);
    t.ok(count >= 1);
    t.ok((count - 1) * bytes < 1.5 * most, `${count} of ${bytes} bytes`);
  }
  t.equal(onPage(240 * KB), 1);
});
