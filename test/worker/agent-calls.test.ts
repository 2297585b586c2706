/** Calls of a worker to its agent: connections are kept and bounded, and what breaks or falls silent is said. */
import { readdirSync, readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { AgentCalls } from 'slipway-worker/agent-calls';
import type { Test } from 'tap';
import t from 'tap';

const folder = join(import.meta.dirname, '../../worker');

async function served(t: Test, answer: RequestListener, options = { connections: 4, silenceMs: 60_000 }) {
  const server = createServer(answer);
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    calls: new AgentCalls({ authorization: 'secret' }, options),
    sockets,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`,
  };
}

t.test('requests and posts arrive, on one connection', async (t) => {
  const { calls, sockets, url } = await served(t, (request, response) => {
    let body = '';
    request
      .setEncoding('utf8')
      .on('data', (text: string) => {
        body += text;
      })
      .once('end', () => {
        response.writeHead(request.method === 'GET' ? 200 : 404, { 'slipway-x': 'y' });
        response.end(
          `${request.method} ${request.headers.authorization} ${request.headers['content-length'] ?? 'none'} ${body}`,
        );
      });
  });
  const asked = await calls.send(url);
  t.match(asked, { status: 200, headers: { 'slipway-x': 'y' } });
  t.equal(asked.body.toString(), 'GET secret none ');
  const posted = await calls.send(url, '"ü"');
  t.equal(posted.status, 404);
  t.equal(posted.body.toString(), 'POST secret 4 "ü"');
  t.equal((await calls.send(url, '')).body.toString(), 'POST secret 0 ');
  t.equal(sockets.size, 1);
});

t.test('connections are bounded', async (t) => {
  const waiting: (() => void)[] = [];
  const { calls, sockets, url } = await served(
    t,
    (_, response) => {
      waiting.push(() => response.end());
    },
    { connections: 2, silenceMs: 60_000 },
  );
  const all = Promise.all(Array.from({ length: 5 }, () => calls.send(url)));
  for (let answered = 0; answered < 5; ) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    const next = waiting.shift();
    if (next) answered += 1;
    next?.();
  }
  t.equal((await all).length, 5);
  t.equal(sockets.size, 2);
});

t.test('a truncated answer, a silent agent, and no agent', async (t) => {
  const broken = await served(t, (_, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('half', () => response.destroy());
  });
  await t.rejects(broken.calls.send(broken.url), /aborted|hang up|ECONNRESET/);
  const silent = await served(t, () => undefined, { connections: 4, silenceMs: 50 });
  await t.rejects(silent.calls.send(silent.url), /said nothing for too long/);
  await t.rejects(silent.calls.send('http://127.0.0.1:1/x'), /ECONNREFUSED/);
});

t.test('a worker loads no package, as one took a third of its start', async (t) => {
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.ts'))) {
    const imports = [...readFileSync(join(folder, file), 'utf8').matchAll(/ from '([^']+)';/g)].map(
      (match) => match[1]!,
    );
    t.same(
      imports.filter((name) => !/^(?:\.\/|node:)/.test(name)),
      [],
      file,
    );
  }
});
