/** Checks where clients reach the TCP ports of a pod, on each surface. */
import type { Test } from 'tap';
import type { System } from '../system/system.ts';
import { waitFor } from '../time/wait-for.ts';
import { podCalls } from './pod-calls.ts';

/** A port on one surface: number in the pod, host, number at the host. */
type Reached = [port: number, host: string, publicPort: number];

/**
 * Checks the TCP ports 22 and 8123 of a running pod. 8123 also answers HTTP. `published`: its machine publishes them,
 * at localhost.
 */
export async function checkTcpPorts(t: Test, system: System, podId: string, published: boolean): Promise<void> {
  const headers = { authorization: `Bearer ${system.key}`, 'content-type': 'application/json' };
  const json = async <T>(path: string, init: RequestInit = {}): Promise<T> =>
    (await (await fetch(`${system.url}${path}`, { headers, ...init })).json()) as T;
  const read = async () => {
    const v1 = await json<{ publicIp: string | null; portMappings: Record<string, number> | null }>(
      `/v1/pods/${podId}`,
    );
    const v2 = await json<{
      ssh: { direct: unknown };
      runtime: { ports: { private: number; public: number | null; type: string; ip: string | null }[] };
    }>(`/v2/pods/${podId}`);
    const fields = 'ip isIpPublic privatePort publicPort type';
    const query = `{ pod(input: { podId: "${podId}" }) { runtime { ports { ${fields} } } } }`;
    const { data } = await json<{
      data: { pod: { runtime: { ports: { ip: string; privatePort: number; publicPort: number; type: string }[] } } };
    }>('/graphql', { method: 'POST', body: JSON.stringify({ query }) });
    return { v1, v2, graphql: data.pod.runtime.ports };
  };
  if (!published) {
    const { v1, v2, graphql } = await read();
    t.match(v1, { publicIp: null, portMappings: null });
    t.same(
      [v2.ssh.direct, v2.runtime.ports.map(({ public: number }) => number), graphql],
      [null, [null, null, null, null], []],
    );
    return;
  }
  const shown = async (): Promise<Reached[]> => {
    const { v1, v2, graphql } = await waitFor('its ports', async () => {
      const found = await read();
      return found.v1.portMappings !== null && found;
    });
    const ports = Object.entries(v1.portMappings!).map(([port, at]): Reached => [Number(port), v1.publicIp!, at]);
    t.same(
      v2.runtime.ports.filter(({ type }) => type === 'tcp').map((each) => [each.private, each.ip, each.public]),
      ports,
    );
    t.same(
      graphql.map(({ privatePort, ip, publicPort }) => [privatePort, ip, publicPort]),
      ports,
    );
    const [[, host, at]] = ports as [Reached];
    t.same(v2.ssh.direct, { host, port: at, username: 'root', command: `ssh root@${host} -p ${at}` });
    return ports;
  };
  const before = await shown();
  t.same(
    before.map(([port, host]) => [port, host]),
    [
      [22, 'localhost'],
      [8_123, 'localhost'],
    ],
  );
  const program = async (): Promise<unknown> => (await fetch(`http://localhost:${before[1]![2]}/up`)).json();
  t.match(await program(), { worker: podId, url: '/up' }, 'bytes are passed on');
  const pods = podCalls(system.clients, system.key);
  await pods.act('restartPod', podId);
  await waitFor('its program again', () =>
    program().then(
      () => true,
      () => false,
    ),
  );
  t.same(await shown(), before, 'the next run has the same ports');
}
