// test: postgres, envoy, 20 s
/** Ctrl-C reaches every process of a terminal's group. Envoy is in none of them: requests under way end as usual. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { skipWithoutEnvoy, startEdge } from '../../helpers/system/edge.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { groupAlive } from '../../helpers/system/process-table.ts';
import { publicRequest } from '../../helpers/system/public-api.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

t.test('the process group of an edge is signalled', { skip: skipWithoutEnvoy() }, async (t) => {
  const system = await startSystem(t);
  const endpointId = await system.createEndpoint({ command: jsHandler('all.js') });
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    await t.test(signal, async (t) => {
      const edge = await startEdge(t, { SLIPWAY_EDGE_FACADES: new URL(system.url).host });
      edge.mayEnd = true;
      const request = publicRequest(`http://${edge.addresses['public']}`, system.key);
      const gate = join(t.testdir({}), 'gate');
      const answering = request('POST', `/v2/${endpointId}/runsync`, { input: { mode: 'until', file: gate } });
      await waitFor('the job to run', async () => {
        const { json } = await system.request('GET', `/v2/${endpointId}/health`);
        return (json['jobs'] as { inProgress: number }).inProgress === 1;
      });
      const group = edge.child.pid;
      process.kill(-group, signal);
      await waitFor('it to take no new connections', async () =>
        request('GET', `/v2/${endpointId}/health`).then(
          () => false,
          () => true,
        ),
      );
      writeFileSync(gate, '');
      const { status, json } = await answering;
      t.equal(status, 200);
      t.match(json, { status: 'COMPLETED', output: { done: true } }, 'the request under way has its answer');
      await waitFor('the edge to end', () => !groupAlive(group));
    });
});
