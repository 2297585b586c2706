/** When the database is a problem, and how bad it is. */
import { databaseProblems } from '@slipway/core/domain/reports/database-problem';
import t from 'tap';

const GB = 1_000_000_000;
const kinds = (free: number, total: number) =>
  databaseProblems({ readOnly: false, disk: { free, total } }).map(({ kind, broken }) => `${kind} ${broken}`);

t.test('its disk', async (t) => {
  t.same(kinds(10 * GB, 100 * GB), [], 'a tenth is enough');
  t.same(kinds(9.9 * GB, 100 * GB), ['DATABASE_DISK false'], 'less is a warning');
  t.same(kinds(2.9 * GB, 100 * GB), ['DATABASE_DISK true'], 'and this cannot wait');
  t.same(kinds(200 * GB, 10_000 * GB), [], 'a large disk has enough');
  t.same(databaseProblems({ readOnly: false, disk: undefined }), [], 'a disk elsewhere is not known');
});

t.test('it is read-only', async (t) => {
  t.match(databaseProblems({ readOnly: true, disk: undefined }), [
    { kind: 'DATABASE_READ_ONLY', broken: true, about: 'DATABASE', accountId: '' },
  ]);
});
