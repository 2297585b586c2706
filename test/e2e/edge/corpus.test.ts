// test: postgres, envoy, 10 s
/**
 * The corpus of wrong and strange requests through the real Envoy: its own answers are JSON too, and what it lets
 * through is rejected behind it.
 */
import t from 'tap';
import { OTHERWISE } from '../../bad-input/bad-request.ts';
import { rerunThroughEdge } from '../../helpers/calls/rerun-through-edge.ts';
import { exchange } from '../../helpers/net/raw-http.ts';
import { skipWithoutEnvoy, startEdge } from '../../helpers/system/edge.ts';
import { startSystem } from '../../helpers/system/system.ts';

t.setTimeout(600_000);
const skip = skipWithoutEnvoy();
const OPTIONS = {
  facadeEnv: { SLIPWAY_RATE_LIMITS: 'false', SLIPWAY_BODY_IDLE_MS: '400', SLIPWAY_BODY_TOTAL_MS: '1500' },
};

/** Envoy takes every version of HTTP/1 and later for 1.1. */
const BY_ENVOY = { 'unknown HTTP version': { status: 200, code: undefined } };

if (skip) {
  t.test('through the edge', { skip }, () => undefined);
} else {
  const system = await startSystem(t, OPTIONS);
  const edge = await startEdge(t, {
    SLIPWAY_EDGE_FACADES: new URL(system.url).host,
    SLIPWAY_CORE_ADDRESS: system.cores[0]!.address,
  });
  for (const [name, answer] of Object.entries(BY_ENVOY)) OTHERWISE.set(name, answer);
  t.teardown(() => OTHERWISE.clear());
  t.test('what Envoy rejects before it looks for a route is JSON too', async (t) => {
    const lines: [request: string, status: number, code: string][] = [
      ['GET https://slipway/ HTTP/1.1', 400, 'invalid_request'],
      ['OPTIONS * HTTP/1.1', 404, 'not_found'],
    ];
    for (const [line, status, code] of lines) {
      const answer = await exchange(`http://${edge.addresses['public']}`, {
        pieces: [`${line}\r\nhost: slipway\r\n\r\n`],
      });
      t.match(answer, { status, json: { code } }, line);
    }
  });
  rerunThroughEdge(t, { system, options: OPTIONS, url: `http://${edge.addresses['public']}` }, ['bad-input/corpus']);
}
