/** The hosts of a URL are those that the driver connects to, each with a URL of its own. */
import { hostsOf } from '@slipway/core/store/sql/database-hosts';
import t from 'tap';

t.test('a host without a port has that of the first one', async (t) => {
  t.same(hostsOf('postgres://u:p@db-1:6432,db-2/x?target_session_attrs=primary'), [
    { name: 'db-1', port: 6432, url: 'postgres://u:p@db-1:6432/x' },
    { name: 'db-2', port: 6432, url: 'postgres://u:p@db-2:6432/x' },
  ]);
});

t.test('an @ in a parameter is no part of a host', async (t) => {
  t.same(hostsOf('postgres://u:p@db-1:5432,db-2:1/x?a=b@c&target_session_attrs=primary&sslmode=require'), [
    { name: 'db-1', port: 5432, url: 'postgres://u:p@db-1:5432/x?a=b@c&sslmode=require' },
    { name: 'db-2', port: 1, url: 'postgres://u:p@db-2:1/x?a=b@c&sslmode=require' },
  ]);
});
