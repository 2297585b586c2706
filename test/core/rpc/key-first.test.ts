// test: postgres
/**
 * A change of a missing object is rejected for the key first: a caller without a valid key does not learn what is
 * missing.
 */
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';

t.setTimeout(600_000);

t.test('updates without a body', async (t) => {
  const { clients, key } = await startReplicas(t);
  const calls: [string, (apiKey: string) => Promise<unknown>][] = [
    [
      'endpoint',
      (apiKey) => call(clients.endpoints, 'updateEndpoint', { endpoint: undefined, updateMask: undefined }, apiKey),
    ],
    [
      'endpoint',
      (apiKey) => call(clients.endpoints, 'whatIf', { endpoint: undefined, updateMask: undefined, hours: 1 }, apiKey),
    ],
    [
      'template',
      (apiKey) => call(clients.templates, 'updateTemplate', { template: undefined, updateMask: undefined }, apiKey),
    ],
    ['pod', (apiKey) => call(clients.pods, 'updatePod', { pod: undefined, updateMask: undefined }, apiKey)],
    [
      'network_volume',
      (apiKey) =>
        call(clients.volumes, 'updateNetworkVolume', { networkVolume: undefined, updateMask: undefined }, apiKey),
    ],
  ];
  for (const [what, change] of calls) {
    t.match(await reasonOf(change('no-such-key')), /^UNAUTHORIZED/, what);
    t.match(await reasonOf(change(key)), new RegExp(`^INVALID_REQUEST: ${what} is required|^ENDPOINT_NOT_FOUND`), what);
  }
});
