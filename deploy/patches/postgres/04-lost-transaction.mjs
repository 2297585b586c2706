// Loses a transaction's connection; its function goes on. DATABASE_URL names a PostgreSQL.
import postgres from 'postgres';

const sql = postgres(process.env.DATABASE_URL, { max: 1, onnotice: () => {} });
await sql`CREATE TABLE IF NOT EXISTS lost_transaction (n int)`;
await sql`TRUNCATE lost_transaction`;

let inserted;
const ended = new Promise((resolve) => {
  inserted = resolve;
});
const begun = sql.begin(async (tx) => {
  await tx`SELECT pg_terminate_backend(pg_backend_pid())`.catch(() => {});
  // Somebody else makes the connection anew.
  while (!(await sql`SELECT 1`.catch(() => false)));
  await tx`INSERT INTO lost_transaction VALUES (1)`.catch(() => {}).then(inserted);
});
console.log(
  'the transaction:',
  await begun.then(
    () => 'committed',
    (error) => error.code,
  ),
);
await ended;
const [{ rows }] = await sql`SELECT count(*)::int AS rows FROM lost_transaction`;
console.log('rows that the failed transaction wrote:', rows);
process.exit(rows === 0 ? 0 : 1);
