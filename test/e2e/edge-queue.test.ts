/** The queue's API once more through the real Envoy with TLS: every state, every limit, webhooks, and OpenAI's client with Python workers. See edge.test.ts. */
import t from 'tap';
import { makeCertificates, skipWithoutEnvoy, startEdge } from '../helpers/edge.ts';
import { runOnceMore } from '../helpers/once-more.ts';
import { startSystem } from '../helpers/system.ts';

t.setTimeout(480_000);
const skip = skipWithoutEnvoy();
/** As the files need it. */
const OPTIONS = {
  agentEnv: { SLIPWAY_STOP_GRACE_MS: '1500', SLIPWAY_CPU_SLOTS: '64' },
  facadeEnv: { SLIPWAY_REQUESTS_PER_WORKER: '30', SLIPWAY_CONCURRENCY_PER_WORKER: '3' },
};

if (skip) {
  t.test('through the edge', { skip }, () => undefined);
} else {
  const [system, certificates] = [await startSystem(t, OPTIONS), await makeCertificates(t)];
  const edge = await startEdge(t, { SLIPWAY_EDGE_FACADES: new URL(system.url).host, SLIPWAY_CORE_ADDRESS: system.cores[0]!.address, ...certificates.env });
  const url = `https://${edge.addresses['public']}`;
  const files = ['spec/states', 'spec/limits', 'spec/webhooks', 'spec/health', 'spec/rate-limits', 'e2e/python-openai'];
  runOnceMore(t, { system, options: OPTIONS, url, ca: certificates.read('ca.pem') }, files);
}
