// Two hosts, of which none accepts connections.
import postgres from 'postgres';

const sql = postgres('postgres://u:p@127.0.0.1:1,127.0.0.1:2/d', { max: 1, backoff: () => 0.1 });
const timer = new Promise((resolve) => setTimeout(resolve, 3000, 'never ends'));
const outcome = await Promise.race([
  sql`SELECT 1`.then(
    () => 'works',
    (error) => error.code,
  ),
  timer,
]);
console.log('the statement:', outcome);
process.exit(outcome === 'ECONNREFUSED' ? 0 : 1);
