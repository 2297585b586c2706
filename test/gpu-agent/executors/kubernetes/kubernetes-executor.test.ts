// test: kubernetes, postgres, 60 s
/** Workloads as Pods of a real API server: start, end, failures, logs, adoption, and an API that goes away. */
import type { ApiPod } from '@slipway/gpu-agent/executors/kubernetes/api-types';
import { createLogger } from '@slipway/kit/log/logger';
import type { KubeObject } from '@slipway/tools/kube/kube-api';
import t from 'tap';
import { launchOf } from '../../../helpers/engines/containers.ts';
import { skipWithoutKube, startKube } from '../../../helpers/kube/cluster.ts';
import { startKubelet } from '../../../helpers/kube/fake-kubelet.ts';
import { makeKubeExecutor } from '../../../helpers/kube/kube-executor.ts';
import { NO_LIMITS } from '../../../helpers/no-limits.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import { adoptionCases } from './adoption-cases.ts';
import { agentCases } from './agent-cases.ts';
import { deviceCases } from './device-cases.ts';
import { logCases } from './log-cases.ts';
import { lostAnswerCases } from './lost-answer-cases.ts';
import { rightsCases } from './rights-cases.ts';
import { useCases } from './use-cases.ts';
import { watchCases } from './watch-cases.ts';

t.setTimeout(600_000);

const PODS = '/api/v1/namespaces/default/pods';
const ANY = new AbortController().signal;
/** Pods of this image are bound, and what the kubelet says of them until they are deleted is the test's. */
const BY_HAND = 'registry.test/by-hand:1';
/** The same, and their end as well. */
const HELD = 'registry.test/held:1';
const image = (name: string) => ({
  name,
  digest: '',
  credentials: undefined,
  resolveDigest: async (digest: string) => digest,
});

t.test('Pods', { skip: skipWithoutKube() }, async (t) => {
  const cluster = await startKube();
  const { api } = cluster;
  const kubelet = await startKubelet(cluster, {
    node: 'node-0',
    leaves: ({ metadata, spec }) => {
      const text = JSON.stringify(spec);
      return text.includes(HELD) || (text.includes(BY_HAND) && !metadata.deletionTimestamp);
    },
  });
  t.teardown(() => kubelet.stop());
  const { executor, machineId } = await makeKubeExecutor(cluster);
  const read = (name: string): Promise<ApiPod> => api.send<ApiPod & KubeObject>('GET', `${PODS}/${name}`);
  const isGone = (path: string) => (): Promise<boolean> =>
    api.send('GET', path).then(
      () => false,
      (error: { code?: number }) => error.code === 404,
    );
  const bound = (name: string): Promise<ApiPod> =>
    waitFor(`${name} to be bound`, async () => {
      const pod = await read(name).catch(() => undefined);
      return pod?.spec?.nodeName === 'node-0' && pod;
    });
  const containerOf = (state: object): object => ({
    containerStatuses: [{ name: 'workload', image: 'x', imageID: '', state }],
  });
  /** Prepares a launch whose kubelet is the test. Returns what it said, and how it ended. */
  const byHand = (more: Partial<Parameters<typeof launchOf>[1]> = {}) => {
    const launch = launchOf('', { image: image(BY_HAND), ...more });
    const lines: string[] = [];
    const prepared = executor
      .prepare(launch, (line) => lines.push(line), ANY)
      .then(
        () => undefined,
        (error: Error) => error,
      );
    return { launch, lines, prepared };
  };

  await t.test('its output in order, and its exit code; nothing remains of it', async (t) => {
    const launch = launchOf('i=0; while [ $i -lt 50 ]; do echo line $i; i=$((i+1)); done; echo $GREETING; exit 3', {
      env: { GREETING: 'hello' },
      image: { ...image('localhost/tool:1'), credentials: { username: 'ada', password: 'secret' } },
    });
    const lines: string[] = [];
    await executor.prepare(launch, (line) => lines.push(line), ANY);
    const workload = executor.start(launch);
    t.match(lines.join('\n'), /Kubernetes pulls localhost\/tool:1 and creates its container|schedule/);
    t.same(await workload.ended, { code: 3, signal: undefined, failure: undefined });
    t.equal(launch.output(), `${Array.from({ length: 50 }, (_, index) => `line ${index}\n`).join('')}hello\n`);
    const secrets = '/api/v1/namespaces/default/secrets';
    await waitFor('its Pod to be gone', isGone(`${PODS}/${launch.workloadId}`));
    await waitFor('its environment to be gone', isGone(`${secrets}/${launch.workloadId}-env`));
    await waitFor('its credentials to be gone', isGone(`${secrets}/${launch.workloadId}-pull`));
  });

  await t.test('SIGTERM is a request, SIGKILL is not, and freezing is refused with the reason', async (t) => {
    const launch = launchOf('trap "echo asked; exit 7" TERM; echo up; while :; do sleep 0.05; done');
    await executor.prepare(launch, () => undefined, ANY);
    const workload = executor.start(launch);
    await waitFor('it to run', () => launch.output() === 'up\n');
    t.equal(workload.address, '127.0.0.1');
    await t.rejects(workload.freeze(), /Kubernetes cannot freeze a Pod.*no standby/);
    workload.stop();
    t.same(await workload.ended, { code: 7, signal: undefined, failure: undefined });
    t.equal(launch.output(), 'up\nasked\n');
    const stubborn = launchOf('trap "" TERM; echo up; while :; do sleep 0.05; done');
    await executor.prepare(stubborn, () => undefined, ANY);
    const killed = executor.start(stubborn);
    await waitFor('it to run', () => stubborn.output() === 'up\n');
    killed.kill();
    t.match(await killed.ended, { code: undefined, signal: 'SIGKILL' });
  });

  await t.test('which GPUs the device plugin chose is read back from the Pod', async (t) => {
    const lines: string[] = [];
    const logger = createLogger('test', 'info', { write: (line) => lines.push(line) });
    const { executor } = await makeKubeExecutor(cluster, { logger });
    const launch = launchOf('', { image: image(BY_HAND), gpus: [{ uuid: 'node-0-mig-1g.10gb-0', virtual: false }] });
    const prepared = executor.prepare(launch, () => undefined, ANY);
    await bound(launch.workloadId);
    const container = { name: 'workload', image: 'x', imageID: '', state: { running: {} } };
    const allocatedResourcesStatus = [
      { name: 'nvidia.com/mig-1g.10gb', resources: [{ resourceID: 'MIG-5c1d', health: 'Healthy' }] },
    ];
    const containerStatuses = [{ ...container, allocatedResourcesStatus }];
    await kubelet.status(launch.workloadId, { phase: 'Running', containerStatuses });
    await prepared;
    const workload = executor.start(launch);
    const line = await waitFor('the line', () => lines.find((each) => each.includes('the device plugin chose')));
    t.match(JSON.parse(line), { workloadId: launch.workloadId, uuids: ['MIG-5c1d'] });
    workload.kill();
    await workload.ended;
  });

  await t.test('the Pod: its node, no account, its limits, its labels and what its environment needs', async (t) => {
    const { launch, prepared } = byHand({
      endpointId: 'ep1',
      env: { A: '$(B)' },
      command: ['echo', '$(HOME)'],
      limits: { ...NO_LIMITS, cpus: 2, memoryBytes: 1 << 30 },
    });
    const pod = await bound(launch.workloadId);
    t.match(pod, {
      metadata: { labels: { 'slipway.machine': machineId, 'slipway.endpoint': 'ep1' } },
      spec: {
        restartPolicy: 'Never',
        automountServiceAccountToken: false,
        containers: [
          {
            image: 'registry.test/by-hand:1',
            imagePullPolicy: 'Always',
            args: ['echo', '$$(HOME)'],
            resources: { limits: { cpu: '2', memory: String(1 << 30) } },
            livenessProbe: { tcpSocket: { host: '127.0.0.1', port: 9 } },
            securityContext: { allowPrivilegeEscalation: false },
          },
        ],
      },
    });
    const secret = await api.send<KubeObject>('GET', `/api/v1/namespaces/default/secrets/${launch.workloadId}-env`);
    t.match(secret, { immutable: true, data: { A: Buffer.from('$(B)').toString('base64') } });
    await waitFor('the Pod to own its Secret', async () => {
      const { metadata } = await api.send('GET', `/api/v1/namespaces/default/secrets/${launch.workloadId}-env`);
      return JSON.stringify(metadata).includes(pod.metadata.uid!);
    });
    await kubelet.status(launch.workloadId, {
      phase: 'Failed',
      reason: 'UnexpectedAdmissionError',
      message: 'no device',
    });
    t.match((await prepared)?.message, /Kubernetes ended its Pod \(UnexpectedAdmissionError: no device\)/);
  });

  await t.test('no capacity, a missing image: why names it, and nothing remains', async (t) => {
    const { launch, lines, prepared } = byHand();
    await bound(launch.workloadId);
    const waiting = (reason: string, message: string) => containerOf({ waiting: { reason, message } });
    await kubelet.status(launch.workloadId, waiting('ErrImagePull', 'dial tcp: lookup registry.test: no such host'));
    await waitFor('a line', () =>
      lines.some((line) => /cannot pull registry\.test\/by-hand:1 yet.*no such host/.test(line)),
    );
    await kubelet.status(launch.workloadId, waiting('ImagePullBackOff', 'rpc error: manifest unknown'));
    t.match((await prepared)?.message, /registry\.test has no image registry\.test\/by-hand:1: check its name and tag/);
    await waitFor('the Pod to be gone', isGone(`${PODS}/${launch.workloadId}`));

    const full = byHand();
    await bound(full.launch.workloadId);
    const message = '0/1 nodes are available: 1 Insufficient nvidia.com/gpu.';
    await kubelet.status(full.launch.workloadId, {
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }],
    });
    await waitFor('a line', () => full.lines.some((line) => /cannot schedule it yet \(Unschedulable: 0\/1/.test(line)));
    await kubelet.remove(full.launch.workloadId);
    t.match((await full.prepared)?.message, /its Pod was deleted before it ran/);
  });

  await t.test('an environment that no Secret can hold is refused, and its Pod does not remain', async (t) => {
    const { launch, prepared } = byHand({ env: { LARGE: 'x'.repeat(1024 * 1024 + 1) } });
    const error = await prepared;
    t.match(error, { failure: 'REFUSED', message: /Kubernetes did not accept its Pod \(Invalid: .*Too long/ });
    t.ok(await isGone(`${PODS}/${launch.workloadId}`)());
  });

  await t.test('a cancelled preparation ends when its Pod is gone', async (t) => {
    const launch = launchOf('', { image: image(HELD) });
    const abort = new AbortController();
    let isOver = false;
    const prepared = executor.prepare(launch, () => undefined, abort.signal).catch((error: unknown) => error);
    void prepared.then(() => (isOver = true));
    await bound(launch.workloadId);
    abort.abort(new Error('not wanted'));
    await waitFor('it to be deleted', async () => (await read(launch.workloadId)).metadata.deletionTimestamp);
    t.notOk(isOver, 'its kubelet has not confirmed the end');
    await kubelet.remove(launch.workloadId);
    t.match(await prepared, { message: 'not wanted' });
  });

  await t.test('ends of Pods caused by the cluster', async (t) => {
    const ends: [string, object, object][] = [
      [
        'out of memory',
        { phase: 'Failed', ...containerOf({ terminated: { exitCode: 137, reason: 'OOMKilled' } }) },
        { outOfMemory: true, signal: 'SIGKILL' },
      ],
      [
        'evicted',
        { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' },
        { cause: 'was evicted by Kubernetes: The node was low on resource: memory' },
      ],
      ['node lost', { phase: 'Failed', reason: 'NodeLost' }, { cause: 'was lost with its node' }],
    ];
    for (const [name, status, exit] of ends) {
      const { launch, prepared } = byHand();
      await bound(launch.workloadId);
      await kubelet.status(launch.workloadId, { phase: 'Running', ...containerOf({ running: {} }) });
      await prepared;
      const { ended } = executor.start(launch);
      await kubelet.status(launch.workloadId, status);
      t.match(await ended, exit, name);
    }
    const { launch, prepared } = byHand();
    await bound(launch.workloadId);
    await kubelet.status(launch.workloadId, { phase: 'Running', ...containerOf({ running: {} }) });
    await prepared;
    const { ended } = executor.start(launch);
    await kubelet.remove(launch.workloadId);
    t.match(await ended, { cause: 'ended because its Pod was deleted' });
  });

  await t.test('the digest of the first machine counts: another image is replaced before it gets work', async (t) => {
    const first = `sha256:${'a'.repeat(64)}`;
    const found: string[] = [];
    const launch = launchOf('echo $0; sleep 100', {
      image: {
        ...image('localhost/tool:1'),
        resolveDigest: async (digest) => {
          found.push(digest);
          return first;
        },
      },
    });
    await executor.prepare(launch, () => undefined, ANY);
    t.same(found, [`sha256:${'d'.repeat(64)}`]);
    const pod = await read(launch.workloadId);
    t.match(pod.spec?.containers, [{ image: `localhost/tool@${first}`, imagePullPolicy: 'IfNotPresent' }]);
    const workload = executor.start(launch);
    workload.kill();
    await workload.ended;
  });

  await t.test('an interrupted log continues without a duplicate or missing line', async (t) => {
    const { launch, prepared } = byHand();
    const { metadata } = await bound(launch.workloadId);
    const uid = metadata.uid!;
    await kubelet.status(launch.workloadId, { phase: 'Running', ...containerOf({ running: {} }) });
    await prepared;
    const { ended } = executor.start(launch);
    await waitFor('a follower', () => kubelet.followers(uid) === 1);
    const at = (second: number, nanos: number): string =>
      `2026-01-02T03:04:0${second}.${String(nanos).padStart(9, '0')}Z`;
    kubelet.log(uid, at(1, 5), 'one\n');
    kubelet.log(uid, at(2, 1), 'two\n');
    kubelet.log(uid, at(2, 1), 'two again\n');
    await waitFor('three lines', () => launch.output().endsWith('two again\n'));
    kubelet.cutLog(uid);
    await waitFor('no follower', () => kubelet.followers(uid) === 0);
    kubelet.log(uid, at(2, 1), 'two once more\n');
    kubelet.log(uid, at(3, 0), 'three\n');
    await waitFor('the rest', () => launch.output().endsWith('three\n'));
    t.equal(launch.output(), 'one\ntwo\ntwo again\ntwo once more\nthree\n');
    await kubelet.status(launch.workloadId, { phase: 'Succeeded', ...containerOf({ terminated: { exitCode: 0 } }) });
    t.match(await ended, { code: 0 });
  });

  await logCases(t, cluster, { kubelet, image: BY_HAND });
  await adoptionCases(t, cluster, executor);
  await watchCases(t, cluster);
  await lostAnswerCases(t, cluster);
  await deviceCases(t, cluster);
  await useCases(t, cluster);
  await rightsCases(t, cluster);
  await agentCases(t, cluster);
});
