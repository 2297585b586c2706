// Ends the client while a statement runs, whose connection is then lost. DATABASE_URL names a PostgreSQL.
import net from 'node:net';
import postgres from 'postgres';

const { hostname, port } = new URL(process.env.DATABASE_URL);
let socket;
const sql = postgres(process.env.DATABASE_URL, {
  max: 1,
  socket: () => (socket = net.connect(port || 5432, hostname)),
});

await sql`SELECT 1`;
const statement = sql`SELECT pg_sleep(10)`.catch((error) => error.code);
for (let i = 0; i < 3; i += 1) await null;
const end = sql.end().then(() => 'ends');
socket.destroy();
console.log('the statement:', await statement);
const outcome = await Promise.race([end, new Promise((resolve) => setTimeout(resolve, 3000, 'never ends'))]);
console.log('sql.end():', outcome);
process.exit(outcome === 'ends' ? 0 : 1);
