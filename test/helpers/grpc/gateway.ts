/** A proxy in front of a system, like that of a company. It records the paths of requests and may change them. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';

/** Starts a gateway to `target`, stopped when the test ends. */
export async function gateway(t: Test, target: string, rewrite: (path: string) => string = (path) => path) {
  const paths: string[] = [];
  const server = createServer(async (request, response) => {
    paths.push(request.url!);
    const body = await Array.fromAsync(request as AsyncIterable<Uint8Array>);
    const answer = await fetch(target + rewrite(request.url!), {
      method: request.method!,
      body: body.length > 0 ? Buffer.concat(body) : null,
      headers: { authorization: request.headers.authorization!, 'content-type': request.headers['content-type']! },
    });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type')! }).end(await answer.text());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(
    () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, paths };
}
