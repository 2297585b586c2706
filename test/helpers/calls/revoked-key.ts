/**
 * Checks that a revoked key ends all that it has opened at a load-balancing endpoint, through a facade and through an
 * edge before it.
 */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import type { Test } from 'tap';
import { call } from '../grpc/grpc-clients.ts';
import { echoWebSocket } from '../net/echo-websocket.ts';
import { lbEndpoint } from '../system/lb-endpoint.ts';
import type { System } from '../system/system.ts';
import { waitFor } from '../time/wait-for.ts';

/** Checks a revoked key. `url`: of the facade, or of an edge. `endpointId`: an endpoint with a ready worker. */
export async function checkRevoked(t: Test, system: System, url: string, endpointId: string): Promise<void> {
  const { clients, rootKey, accountId } = system;
  const fields = { name: 'leaked', scope: KeyScope.ALL, endpointIds: [], accountId, permissions: undefined };
  const { key, secret } = await call(clients.keys, 'createKey', fields, rootKey);
  // No worker may start here, so that requests wait.
  const none = await lbEndpoint(system, { workersMax: 0 });
  const auth = { headers: { authorization: `Bearer ${secret}` } };
  const waiting = fetch(`${url}/v2/${none}/x`, auth);
  const stays = new AbortController();
  const other = fetch(`${url}/v2/${none}/x`, {
    headers: { authorization: `Bearer ${system.key}` },
    signal: stays.signal,
  }).then(
    () => 'answered',
    () => 'left',
  );
  const streaming = await fetch(`${url}/v2/${endpointId}/stream`, auth);
  const talk = echoWebSocket(`${url.replace('http', 'ws')}/v2/${endpointId}/chat`, secret);
  const quiet = new WebSocket(`${url.replace('http', 'ws')}/v2/${endpointId}/chat`, auth);
  const closed = new Promise<CloseEvent>((resolve) => {
    quiet.addEventListener('close', resolve);
  });
  const kept = echoWebSocket(`${url.replace('http', 'ws')}/v2/${endpointId}/chat`, system.key);
  await waitFor('the WebSockets', () => talk.words > 0 && kept.words > 0 && quiet.readyState === WebSocket.OPEN);
  await call(clients.keys, 'revokeKey', { id: key!.id }, system.key);
  t.equal(
    await streaming.text(),
    'data: 1\n\ndata: 2\n\ndata: 3\n\n',
    'an answer that is under way is told to its end',
  );
  const refused = await waiting;
  t.match([refused.status, await refused.json()], [401, { detail: 'invalid api key' }], 'who waits is refused');
  const { code, reason } = await closed;
  t.same([code, reason], [1008, 'invalid api key'], 'a WebSocket is closed');
  await waitFor('the other one to end', () => !talk.isOpen);
  const { words } = kept;
  await waitFor('another key to talk on', () => kept.words > words + 5 || !kept.isOpen);
  t.ok(kept.isOpen, 'another key is not concerned');
  kept.stop();
  stays.abort();
  t.equal(await other, 'left', 'nor is who waits with it');
}
