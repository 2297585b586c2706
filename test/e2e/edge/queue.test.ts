// test: postgres, envoy, 50 s
/**
 * The queue's API once more through the real Envoy with TLS: every state and every limit. See edge.test.ts. Not
 * webhooks, which go out past the edge, and of the rates, which facades count, one: that a whole window's requests pass
 * the edge's own guard.
 */
import t from 'tap';
import { limitedCalls, OPERATIONS } from '../../helpers/calls/limited-calls.ts';
import { rerunThroughEdge } from '../../helpers/calls/rerun-through-edge.ts';
import { makeCertificates, skipWithoutEnvoy, startEdge } from '../../helpers/system/edge.ts';
import { publicRequest } from '../../helpers/system/public-api.ts';
import { startSystem } from '../../helpers/system/system.ts';

t.setTimeout(600_000);
const skip = skipWithoutEnvoy();
/** As the files need it. */
const OPTIONS = {
  agentEnv: { SLIPWAY_STOP_GRACE_MS: '1500', SLIPWAY_CPU_SLOTS: '64' },
  facadeEnv: { SLIPWAY_METRICS_LISTEN: '127.0.0.1:0' },
};

if (skip) {
  t.test('through the edge', { skip }, () => undefined);
} else {
  const [system, certificates] = [await startSystem(t, OPTIONS), await makeCertificates(t)];
  const edge = await startEdge(t, {
    SLIPWAY_EDGE_FACADES: new URL(system.url).host,
    SLIPWAY_CORE_ADDRESS: system.cores[0]!.address,
    ...certificates.env,
  });
  const url = `https://${edge.addresses['public']}`;
  const files = ['spec/jobs/states', 'spec/http/limits', 'spec/health', 'spec/jobs/concurrency-limits'];
  rerunThroughEdge(t, { system, options: OPTIONS, url, ca: certificates.read('ca.pem') }, files);
  const { checkRate } = limitedCalls({ ...system, url, request: publicRequest(url, system.key) });
  t.test('/status | GET | 2000 requests per 10 s', (t) => checkRate(t, OPERATIONS.status, 2000));
}
