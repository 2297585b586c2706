// Sends a statement between the socket's `error` and its `close`. DATABASE_URL names a PostgreSQL.
import net from 'node:net';
import postgres from 'postgres';

const { hostname, port } = new URL(process.env.DATABASE_URL);
let socket;
const sql = postgres(process.env.DATABASE_URL, {
  max: 1,
  socket: () => (socket = net.connect(port || 5432, hostname)),
});

await sql`SELECT 1`;
const first = sql`SELECT pg_sleep(1)`.catch((error) => error.message);
for (let i = 0; i < 3; i += 1) await null;
socket.destroy(new Error('cut'));
console.log('the statement on the lost connection:', await first);
const timer = new Promise((resolve) => setTimeout(resolve, 3000, 'never ends'));
const second = await Promise.race([
  sql`SELECT 2`.then(
    () => 'works',
    (error) => error.code,
  ),
  timer,
]);
console.log('the statement right after it:', second);
process.exit(second === 'never ends' ? 1 : 0);
