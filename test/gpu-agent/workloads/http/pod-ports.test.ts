/** Where others reach a pod in a container: through ports of its host, which end with it. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FreePorts } from '@slipway/gpu-agent/workloads/http/free-ports';
import { PodPorts } from '@slipway/gpu-agent/workloads/http/pod-ports';
import { systemRandom } from '@slipway/kit/time/clock';
import { WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';
import t from 'tap';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.test('a port of the host for each http port, as long as the pod is there', async (t) => {
  const server = createServer((request, reply) => reply.end(request.url)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const spec = WorkerSpec.fromPartial({ imageName: 'web', ports: [`${port}/http`, '22/tcp', 'nonsense'] });
  let changes = 0;
  const shown = new PodPorts({ advertiseHost: 'localhost', tunnels: false, ports: new FreePorts(systemRandom) }, () => {
    changes += 1;
  });
  shown.update('', spec);
  shown.update('127.0.0.1', spec);
  await waitFor('the ports', () => changes === 1);
  t.match(shown.shown, [{ port, address: /^localhost:\d+$/ }]);
  const url = `http://${shown.shown[0]!.address}/x`;
  t.equal(await (await fetch(url)).text(), '/x');
  shown.update(undefined, spec);
  t.same(shown.shown, []);
  await waitFor('its end', () =>
    fetch(url).then(
      () => false,
      () => true,
    ),
  );
});
