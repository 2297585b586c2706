// test: kubernetes, postgres, 10 s
/**
 * The chart's NOTES and `helm test` send a request to a real facade, and its worker answers. The cluster has no DNS and
 * no network between Pods: kwok forwards the port of the facade's Pod to the real facade, and the test Pod gets the
 * facade's URL.
 */
import { execFile } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { promisify } from 'node:util';
import { kubeProgram } from '@slipway/tools/kube/kube-programs';
import t from 'tap';
import { skipWithoutKube, startKube } from '../helpers/kube/cluster.ts';
import { startKubelet } from '../helpers/kube/fake-kubelet.ts';
import { CHART, kubeClient, setOptions } from '../helpers/kube/helm.ts';
import { quietPort } from '../helpers/net/ports.ts';
import { scratch } from '../helpers/scratch.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { startSystem } from '../helpers/system/system.ts';

const HELLO = '../../deploy/images/hello.mjs';
const SECRETS = '/api/v1/namespaces/slipway/secrets';
const IN = '--namespace=slipway';

t.setTimeout(600_000);
t.test('a request to what the chart installs', { skip: skipWithoutKube() }, async (t) => {
  const system = await startSystem(t);
  const endpoint = await system.createEndpoint({ command: jsHandler(HELLO) });
  const forwards = [{ pod: 8080, host: Number(new URL(system.url).port) }];
  const cluster = await startKube({ controllers: true, nodes: [{ name: 'cpu-0' }], forwards });
  const { api } = cluster;
  const client = await kubeClient(t, cluster.kubeconfig);
  await api.send('POST', '/api/v1/namespaces', { metadata: { name: 'slipway' } });
  for (const [name, stringData] of [
    ['slipway-db-app', { uri: system.database.url }],
    // The keys that the `setup` Job creates in core.
    ['slipway-first', { 'api-key': system.key, endpoint }],
  ] as const)
    await api.send('POST', SECRETS, { metadata: { name }, stringData });
  const values = setOptions(['database.existingSecret=slipway-db-app', 'edge.enabled=false', 'facade.replicas=1']);
  await client.helm('install', 'slipway', CHART, IN, '--wait', '--timeout=5m', ...values);

  await t.test('the lines of the notes send one', async (t) => {
    const { folder, path } = await scratch(t);
    symlinkSync(kubeProgram('kubectl'), path('kubectl'));
    const notes = await client.helm('get', 'notes', 'slipway', IN);
    const [, lines = ''] = /Then try it:\n([\s\S]*?)\n`helm test/.exec(notes) ?? [];
    // A free port instead of the one in NOTES: tests run side by side.
    const port = await quietPort();
    const script = lines.replace('8080:8080', `${port}:8080`).replace('localhost:8080', `localhost:${port}`);
    t.match(script, `${port}:8080`);
    t.match(script, `http://localhost:${port}"`);
    const env = { PATH: `${folder}:${process.env.PATH}`, HOME: folder, KUBECONFIG: cluster.kubeconfig };
    const all = `trap 'kill $(jobs -p)' EXIT\n${script}`;
    const { stdout } = await promisify(execFile)('bash', ['-c', all], { env, cwd: folder });
    t.match(stdout, /"output":\{"hello":"Ada"/);
    t.match(stdout, /"status":"COMPLETED"/);
  });

  await t.test('helm test sends one, and fails when its key is not valid', async (t) => {
    const kubelet = await startKubelet(cluster, {
      node: 'host-0',
      namespace: 'slipway',
      binds: false,
      env: () => ({ URL_OF: system.url }),
    });
    t.teardown(() => kubelet.stop());
    await client.kubectl('cordon', 'cpu-0');
    t.match(await client.helm('test', 'slipway', IN, '--timeout=2m'), /Phase:\s+Succeeded/);
    await api.send('PATCH', `${SECRETS}/slipway-first`, { stringData: { 'api-key': 'rpa_wrong' } });
    await t.rejects(client.helm('test', 'slipway', IN, '--timeout=2m'));
  });
});
