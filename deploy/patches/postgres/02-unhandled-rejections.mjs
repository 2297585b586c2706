// A server that accepts a login and resets the connection at the first query, which is the driver's own for array
// types.
import net from 'node:net';
import postgres from 'postgres';

const LOGGED_IN = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);
const server = net.createServer((socket) => {
  socket.on('error', () => {});
  socket.once('data', () => {
    socket.write(LOGGED_IN);
    socket.once('data', () => socket.resetAndDestroy());
  });
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
process.on('unhandledRejection', (error) => {
  console.log('unhandled rejection:', error.code);
  process.exit(1);
});
const sql = postgres(`postgres://u:p@127.0.0.1:${server.address().port}/d`, { max: 1 });
console.log(
  'the statement:',
  await sql`SELECT 1`.then(
    () => 'works',
    (error) => error.code,
  ),
);
setImmediate(() => process.exit(0));
