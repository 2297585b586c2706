/** Times in query strings: absolute with a zone, or before now. */
import { queryTime } from '@slipway/facades/jobs/query-time';
import t from 'tap';
import { reasonOf } from '../reason-of.ts';

const NOW = Date.parse('2026-11-28T03:00:00Z');
const read = (text: unknown) => queryTime({ from: text }, 'from', NOW)?.toISOString();

t.test('times', async (t) => {
  t.equal(read(undefined), undefined);
  t.equal(read(''), undefined);
  t.equal(read('2024-02-29T23:59:59.123456789Z'), '2024-02-29T23:59:59.123Z');
  t.equal(read('2026-01-01T00:30+01:00'), '2025-12-31T23:30:00.000Z');
  t.equal(read('now-90s'), '2026-11-28T02:58:30.000Z');
});

t.test('no times', async (t) => {
  for (const text of [
    ...['2026-02-30T00:00:00Z', '2025-02-29T00:00:00Z', '2026-04-31T00:00:00Z', '2026-00-10T00:00:00Z'],
    ...['2026-13-01T00:00:00Z', '2026-01-32T00:00:00Z', '2026-01-01T25:00:00Z', '2026-01-01T00:60:00Z'],
    ...['2026-01-01', '2026-01-01T00:00:00', '2026-01-01T00:00:00 01:00', '1767225600', 'now', 'now-1w'],
    ...['now-999999999d', ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z']],
  ])
    t.equal(
      reasonOf(() => read(text)),
      'INVALID_REQUEST',
      String(text),
    );
});
