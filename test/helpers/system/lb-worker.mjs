// An HTTP server as load-balancing endpoints run them: it answers what it was asked, slowly, in pieces, as events, as a
// WebSocket echo, or not at all.
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';

/** All requests except health checks, and the paths of those with Expect: 100-continue. */
const seen = [];
const asked = [];
let silent = 0;
const isFull = ({ pathname, searchParams }) =>
  pathname === '/full' && searchParams.get('but') !== process.env.RUNPOD_POD_ID;
// A download is never a WebSocket, even if the client asks for an upgrade.
const server = createServer({ shouldUpgradeCallback: ({ url }) => !url.startsWith('/download') }, (request, reply) => {
  const url = new URL(request.url, 'http://worker');
  const isCheck = url.pathname === process.env.HEALTH_CHECK_PATH;
  if (!isCheck) seen.push(`${request.method} ${request.url}`);
  request.socket.carriesRequests = !isCheck;
  const show = (more = {}) => {
    reply.setHeader('content-type', 'application/json');
    reply.end(
      JSON.stringify({
        worker: process.env.RUNPOD_POD_ID,
        method: request.method,
        url: request.url,
        headers: request.rawHeaders,
        ...more,
      }),
    );
  };
  const whole = () => {
    const hash = createHash('sha256');
    let bytes = 0;
    request.on('data', (piece) => {
      bytes += piece.length;
      hash.update(piece);
    });
    request.on('end', () => show({ bytes, sha256: hash.digest('hex') }));
  };
  switch (url.pathname) {
    case process.env.HEALTH_CHECK_PATH:
      return reply.end();
    case '/slow':
      return setTimeout(show, Number(url.searchParams.get('ms')));
    // Nobody gets in any more when its client sees its end: a busy host closes one after the other.
    case '/die':
      server.close();
      return process.exit(1);
    case '/read-and-die':
      return request.once('data', () => process.exit(1));
    case '/seen':
      return show({ seen, asked });
    // Nobody can connect any more, and who is connected is not answered again.
    case '/deaf':
      server.close();
      reply.shouldKeepAlive = false;
      return show();
    // Full, unless it is the worker that is named.
    case '/full': {
      if (!isFull(url)) return whole();
      reply.writeHead(Number(url.searchParams.get('status') ?? 503), { 'x-slipway-full': '1' });
      return reply.end('full');
    }
    // Full, when it has begun to read.
    case '/read-and-full':
      return request.once('data', () => {
        reply.writeHead(503, { 'x-slipway-full': '1' });
        reply.end('full');
      });
    // Says no without reading, and yes before it reads.
    case '/no':
      reply.writeHead(403);
      return reply.end('no');
    case '/yes-first': {
      reply.flushHeaders();
      let bytes = 0;
      return request
        .on('data', (piece) => {
          bytes += piece.length;
        })
        .on('end', () => reply.end(`${bytes}`));
    }
    // Each piece as it arrives.
    case '/pieces':
      return request.pipe(reply);
    // As fast as it is read.
    case '/flow': {
      let flowed = 0;
      const write = () => {
        let room = true;
        while (room && flowed < Number(url.searchParams.get('bytes'))) {
          server.flowed = flowed += 65_536;
          server.flowedInAll = (server.flowedInAll ?? 0) + 65_536;
          room = reply.write(Buffer.alloc(65_536, 'x'));
        }
        if (room) reply.end();
      };
      server.flowed = 0;
      reply.on('drain', write);
      return write();
    }
    case '/stream': {
      reply.writeHead(200, { 'content-type': 'text/event-stream' });
      let count = 0;
      const timer = setInterval(() => {
        count += 1;
        reply.write(`data: ${count}\n\n`);
        if (count === 3) {
          clearInterval(timer);
          reply.end();
        }
      }, 30);
      return;
    }
    case '/half': {
      reply.writeHead(200, { 'content-length': 1000 });
      reply.write('half');
      if (url.searchParams.has('held')) return;
      return setTimeout(() => process.exit(1), 50);
    }
    case '/hints':
      reply.writeEarlyHints({ link: '</a.css>; rel=preload' });
      reply.setHeader('x-late', 'yes');
      return show();
    case '/headers': {
      const { count, bytes } = Object.fromEntries(url.searchParams);
      for (let n = 0; n < Number(count); n += 1) reply.setHeader(`x-${n}`, 'v'.repeat(Number(bytes)));
      return show();
    }
    // Sets the cookies given in the query.
    case '/cookies':
      reply.setHeader('set-cookie', url.searchParams.getAll('set'));
      return show();
    case '/download':
      return reply.end(Buffer.alloc(Number(url.searchParams.get('bytes')), 'x'));
    // Sends the given status, content type, and body in base64.
    case '/say': {
      const type = url.searchParams.get('type');
      reply.writeHead(Number(url.searchParams.get('status') ?? 200), type === null ? {} : { 'content-type': type });
      return reply.end(Buffer.from(url.searchParams.get('bytes') ?? '', 'base64'));
    }
    // A whole answer, as bytes.
    case '/bytes':
      return request.socket.end(Buffer.from(url.searchParams.get('bytes'), 'base64'));
    case '/endless': {
      let count = 0;
      const timer = setInterval(() => reply.write(`tick ${(count += 1)}\n`), 20);
      reply.writeHead(200, { 'content-type': 'text/plain' });
      return reply.on('close', () => {
        clearInterval(timer);
        server.left = (server.left ?? 0) + 1;
      });
    }
    case '/hang': {
      server.hangs = (server.hangs ?? 0) + 1;
      request.on('close', () => {
        server.left = (server.left ?? 0) + 1;
      });
      reply.on('close', () => {
        server.left = (server.left ?? 0) + 1;
      });
      return;
    }
    case '/count':
      return show({
        hangs: server.hangs ?? 0,
        left: server.left ?? 0,
        flowed: server.flowed ?? 0,
        flowedInAll: server.flowedInAll ?? 0,
        silent,
      });
    case '/trailers': {
      reply.writeHead(200, { trailer: 'x-sum', 'transfer-encoding': 'chunked' });
      request.resume().on('end', () => {
        reply.write(JSON.stringify(request.trailers));
        reply.addTrailers({ 'x-sum': 'all' });
        reply.end();
      });
      return;
    }
    default:
      return whole();
  }
});
// Asked whether it wants a body: it says so by itself, but for what it refuses, and what it does not answer.
server.on('checkContinue', (request, reply) => {
  const url = new URL(request.url, 'http://worker');
  const { pathname } = url;
  asked.push(pathname);
  if (pathname === '/asked-in-vain') {
    reply.writeHead(417);
    return reply.end();
  }
  if (!isFull(url) && !/^\/(no|yes-first|unasked)$/.test(pathname)) reply.writeContinue();
  server.emit('request', request, reply);
});
server.on('upgrade', (request, socket, head) => {
  const accept = createHash('sha1')
    .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64');
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\n' +
      'Upgrade: websocket\r\n' +
      'Connection: Upgrade\r\n' +
      'Sec-WebSocket-Accept: ' +
      `${accept}\r\n\r\n`,
  );
  // As much as is asked for, in frames of 64 KiB, as fast as they are read.
  const { pathname, searchParams } = new URL(request.url, 'http://worker');
  if (pathname === '/talk') {
    const frame = Buffer.concat([Buffer.from([0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0]), Buffer.alloc(65_536, 'x')]);
    let left = Number(searchParams.get('bytes'));
    const write = () => {
      let room = true;
      while (room && left > 0) {
        left -= 65_536;
        server.flowedInAll = (server.flowedInAll ?? 0) + 65_536;
        room = socket.write(frame);
      }
    };
    socket.on('drain', write).on('error', () => socket.destroy());
    return write();
  }
  // Frames of a client are masked; an echo in short frames is enough.
  const echo = (frame) => {
    if ((frame[0] & 15) === 8) return socket.end();
    const length = frame[1] & 127;
    const mask = frame.subarray(2, 6);
    const text = Buffer.from(frame.subarray(6, 6 + length).map((byte, index) => byte ^ mask[index % 4]));
    socket.write(Buffer.concat([Buffer.from([0x81, text.length]), text]));
  };
  if (head.length > 0) echo(head);
  socket.on('data', echo);
  socket.on('error', () => socket.destroy());
});
// Connections of requests that this server ended because they were silent.
server.on('timeout', (socket) => {
  if (socket.carriesRequests) silent += 1;
  socket.destroy();
});
server.keepAliveTimeout = Number(process.env.KEEP_MS ?? 20);
server.keepAliveTimeoutBuffer = 0;
setTimeout(() => server.listen(Number(process.env.PORT), '127.0.0.1'), Number(process.env.START_MS ?? 0));
