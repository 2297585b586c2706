// test: postgres, 10 s
/** An endpoint with a model, from its creation to a job that reads it, and to a second machine that copies it. */
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import t from 'tap';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { startModelHub } from '../helpers/net/model-hub.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { readMetrics, valueOf } from '../helpers/system/metrics.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const BYTES = 10_000;
const input = { model: 'lab/tiny', file: 'sub/weights.txt' };

t.test('a job reads the model of its endpoint', async (t) => {
  const hub = await startModelHub(t);
  const system = await startSystem(t, {
    coreEnv: { SLIPWAY_MODEL_HUB: hub.address },
    // One worker on each machine.
    agentEnv: {
      SLIPWAY_CPU_SLOTS: '1',
      SLIPWAY_MODEL_PEER_LISTEN: '127.0.0.1:0',
      SLIPWAY_MODEL_DISK_GB: '1',
      SLIPWAY_METRICS_LISTEN: '127.0.0.1:0',
    },
  });
  const commit = hub.push('lab/tiny', { files: { 'sub/weights.txt': 'w'.repeat(BYTES) } });
  const endpointId = await system.createEndpoint({
    command: jsHandler('cached-model.js'),
    fields: { modelReferences: ['lab/tiny'] },
    workersMax: 2,
  });
  const { json } = await system.request('POST', `/v2/${endpointId}/runsync`, { input });
  t.match(json, { status: 'COMPLETED', output: { commit, text: 'w'.repeat(BYTES) } });
  t.equal(hub.sentBytes, BYTES);

  await t.test('a second machine copies it while the hub is away', async (t) => {
    hub.setAway(true);
    await system.startAgent();
    await call(
      system.clients.endpoints,
      'updateEndpoint',
      { endpoint: Endpoint.fromPartial({ id: endpointId, workersMin: 2 }), updateMask: ['workers_min'] },
      system.key,
    );
    await waitFor('both workers', async () => {
      const { workers } = await call(system.clients.jobs, 'getHealth', { endpointId }, system.key);
      return workers!.ready === 2;
    });
    t.equal(hub.sentBytes, BYTES);
    const [first, second] = await Promise.all(system.metrics.agents.map(readMetrics));
    const received = (metrics: typeof first, source: string) =>
      valueOf(metrics!, 'slipway_agent_model_received_bytes_total', { source });
    t.same([received(first, 'hub'), received(second, 'hub'), received(second, 'machine')], [BYTES, 0, BYTES]);
    t.equal(valueOf(second!, 'slipway_agent_model_downloads_total', { result: 'downloaded' }), 1);
    t.equal(valueOf(second!, 'slipway_agent_model_disk_bytes'), BYTES);
    t.equal(valueOf(second!, 'slipway_agent_model_disk_limit_bytes'), 1_000_000_000);
  });
});
