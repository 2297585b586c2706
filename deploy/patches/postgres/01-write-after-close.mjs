// Sends a statement on a reserved connection that has been lost. DATABASE_URL names a PostgreSQL.
import postgres from 'postgres';

process.on('uncaughtException', (error) => {
  console.log('uncaught exception:', error.message);
  process.exit(1);
});
const sql = postgres(process.env.DATABASE_URL, { max: 1, onnotice: () => {} });
const closed = new Promise((resolve) => {
  sql.options.onclose = resolve;
});
const reserved = await sql.reserve();
console.log(
  'the statement that loses the connection:',
  await reserved`SELECT pg_terminate_backend(pg_backend_pid())`.catch((error) => error.code),
);
await closed;
console.log(
  'the next statement:',
  await reserved`SELECT 1`.then(
    () => 'works',
    (error) => error.code,
  ),
);
process.exit(0);
