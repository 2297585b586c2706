// A worker of a load-balancing endpoint that does nothing, so that only the path to it is measured.
import { createServer } from 'node:http';

const answer = Buffer.from('{"ok":true}');
const server = createServer((request, reply) => {
  request.resume();
  request.once('end', () =>
    reply.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length }).end(answer),
  );
});
server.keepAliveTimeout = 60_000;
server.listen(Number(process.env.PORT), '127.0.0.1');
