// test: postgres, python, 20 s
/**
 * Clients that send all of a body before they read get the answer that was settled before it had come, whether they
 * keep their connection or close it after the request.
 */
import t from 'tap';
import type { SendingClient } from '../../helpers/calls/send-all-first.ts';
import { checkEarlyAnswers } from '../../helpers/calls/send-all-first.ts';
import { skipWithoutPython } from '../../helpers/system/handlers.ts';
import { lbClient, lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { startSystem } from '../../helpers/system/system.ts';

t.setTimeout(600_000);

t.test('an answer that comes before its request is complete', { skip: skipWithoutPython('new') }, async (t) => {
  const system = await startSystem(t);
  const { url, key } = system;
  const lbId = await lbEndpoint(system, { workersMin: 1 });
  t.equal((await lbClient(system).at(lbId, '/x')).status, 200, 'the worker is ready');
  const clients: SendingClient[] = ['urllib', 'chunked', 'expect', 'http.client', 'HTTP/1.0', 'half-close'];
  for (const how of clients) {
    // Each has its own limit.
    const queueId = await system.createEndpoint({ command: ['true'], fields: { workersMin: 0 } });
    await t.test(how, (t) => checkEarlyAnswers(t, { url, key, queueId, lbId }, how));
  }
});
