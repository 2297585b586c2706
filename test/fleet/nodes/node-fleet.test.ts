// test: kubernetes, postgres, 25 s
/**
 * Twenty nodes of a real API server, whose kubelets kwok plays, filled with 200 workers by real agents: all Pods run,
 * no GPU is given twice, and nothing of them stays. `npx node test/fleet/nodes/main.ts` measures 200 nodes.
 */
import type { KubeObject } from '@slipway/tools/kube/kube-api';
import t from 'tap';
import { skipWithoutKube, startKube } from '../../helpers/kube/cluster.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { GPUS, gpuNodes, startAgents } from './node-agents.ts';
import { NodeFleet } from './node-fleet.ts';

const NODES = 20;

t.setTimeout(600_000);
t.test('nodes by the dozen', { skip: skipWithoutKube() }, async (t) => {
  const { clients, rootKey, sql, replicas } = await startReplicas(t);
  const core = { clients, rootKey, sql, addresses: () => replicas.map(({ address }) => address) };
  const cluster = await startKube({ controllers: true, nodes: gpuNodes(NODES) });
  t.teardown(await startAgents(core, NODES, cluster));
  const fleet = new NodeFleet(core, NODES, cluster);
  const objects = async (path: string): Promise<readonly KubeObject[]> =>
    (await cluster.api.send<{ items: KubeObject[] }>('GET', path)).items;
  const secrets = (): Promise<readonly KubeObject[]> => objects('/api/v1/namespaces/default/secrets');
  await fleet.joined();

  await t.test('all workers run, each on the node of its machine', async (t) => {
    await fleet.deploy();
    await fleet.filled();
    const pods = await fleet.pods();
    t.equal(pods.length, 200);
    const rows = await sql<{ id: string; name: string; gpus: number }[]>`
      SELECT worker.id, machine.name, cardinality(worker.gpu_uuids) AS gpus
      FROM worker JOIN machine ON machine.id = worker.machine_id WHERE worker.ended_at IS NULL`;
    t.same(
      new Map(pods.map(({ metadata, spec }) => [metadata.name, spec.nodeName])),
      new Map(rows.map(({ id, name }) => [id, name])),
    );
    t.equal(rows.filter(({ gpus }) => gpus === 1).length, NODES * GPUS);
    t.equal(rows.filter(({ gpus }) => gpus === 0).length, 40);
  });

  await t.test('no GPU is given twice', async (t) => {
    const gpus = (await fleet.pods()).flatMap(({ metadata }) =>
      metadata.annotations!['slipway.gpus']!.split(',').filter(Boolean),
    );
    t.equal(gpus.length, NODES * GPUS);
    t.equal(new Set(gpus).size, gpus.length);
  });

  await t.test('each Pod has one Secret, which goes with it', async (t) => {
    const owners = (await secrets()).map(
      ({ metadata }) => (metadata['ownerReferences'] as { name: string }[] | undefined)?.[0]?.name,
    );
    t.same(owners.sort(), (await fleet.pods()).map(({ metadata }) => metadata.name).sort());
    await fleet.empty();
    await waitFor('no Secret', async () => (await secrets()).length === 0);
  });
});
