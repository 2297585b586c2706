// test: postgres, python, envoy, 10 s
/**
 * Requests that try to hide in another one on the way from the real Envoy straight to a worker, for each kind of
 * server.
 */
import { join } from 'node:path';
import t from 'tap';
import { exchange } from '../../helpers/net/raw-http.ts';
import { HIDDEN_PATH, hidingRequests, smugglingCorpus } from '../../helpers/net/smuggling.ts';
import { startDirectWay } from '../../helpers/system/direct-way.ts';
import { skipWithoutEnvoy } from '../../helpers/system/edge.ts';
import { PYTHONS, pythonHandler, skipWithoutPython } from '../../helpers/system/handlers.ts';
import { LB_WORKER } from '../../helpers/system/lb-endpoint.ts';

t.setTimeout(600_000);
const PYTHON_WORKER = [PYTHONS.new, join(import.meta.dirname, '../../helpers/system/lb-worker.py')];
/** A server that many Python programs have, with each of its two parsers. */
const UVICORN = pythonHandler('new', 'asgi.py');

t.test('request smuggling', { skip: skipWithoutEnvoy() || skipWithoutPython('new') }, async (whole) => {
  const { system, edge, send, shown, create } = await startDirectWay(whole);
  const servers: [name: string, command: string[], env: Record<string, string>][] = [
    ['a Node worker', LB_WORKER, {}],
    ['a Python worker', PYTHON_WORKER, {}],
    ...['h11', 'httptools'].map((parser): [string, string[], Record<string, string>] => [
      `uvicorn with ${parser}`,
      UVICORN,
      { UVICORN_HTTP: parser },
    ]),
  ];
  for (const [name, command, env] of servers) {
    await whole.test(`no request hides in another: ${name}`, async (t) => {
      const worker = await create({ env }, command);
      const corpus = smugglingCorpus({
        post: `/v2/${worker}/post`,
        get: `/v2/${worker}/get`,
        auth: `authorization: Bearer ${system.key}\r\n`,
      });
      for (const [trick, text] of Object.entries(corpus)) {
        const { status } = await exchange(`http://${edge.addresses['public']}`, { pieces: [text] });
        t.ok(status === 0 || status >= 400, `${trick}: ${status}`);
      }
      for (const [trick, text] of hidingRequests(`/v2/${worker}/p`, system.key)) {
        const { status } = await exchange(`http://${edge.addresses['public']}`, { pieces: [text] });
        t.ok(
          [0, 200, 400, 501, ...(trick === 'a line feed in the path' ? [401] : [])].includes(status),
          `${trick}: ${status}`,
        );
        t.equal((await send(`/v2/${worker}/x`)).status, 200, `what comes after ${trick}`);
      }
      const { seen } = await shown(`/v2/${worker}/seen`);
      t.notOk(seen.join().includes(HIDDEN_PATH), seen.join());
      t.ok(
        seen.every((line) => /^(GET|POST|DELETE) \/(p|x|seen)$/.test(line)),
        [...new Set(seen)].join(', '),
      );
    });
  }
});
