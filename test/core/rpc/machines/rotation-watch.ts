/** A facade's stream of backends. */
import type { ClientDuplexStream } from '@grpc/grpc-js';
import { callMetadata, systemTransport } from '@slipway/kit/net/channel';
import type {
  EndpointRotation,
  WatchRotationRequest,
  WatchRotationResponse,
} from '@slipway/proto/gen/slipway/v1/edge_service';
import { EdgeServiceClient, EndpointDemand } from '@slipway/proto/gen/slipway/v1/edge_service';
import { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { Test } from 'tap';
import type { CoreReplicas } from '../../../helpers/system/core-replicas.ts';

export const LB = { type: EndpointType.LB, workersMin: 0, scalerValue: 10, idleTimeoutSeconds: 1 };

/** Returns a facade's stream to one replica. */
export function watchReplica(t: Test, core: CoreReplicas, replica: number, edgeKey = '', reporter = '') {
  const client = systemTransport.openClient(EdgeServiceClient, core.replicas[replica]!.address);
  const stream: ClientDuplexStream<WatchRotationRequest, WatchRotationResponse> = client.watchRotation(
    callMetadata(edgeKey),
  );
  const latest = new Map<string, EndpointRotation>();
  const refused = new Map<string, string>();
  const received: EndpointRotation[] = [];
  stream.on('data', ({ rotations, refusals }: WatchRotationResponse) => {
    received.push(...rotations);
    for (const rotation of rotations) latest.set(rotation.endpointId, rotation);
    for (const { endpointId, reason } of refusals) refused.set(endpointId, reason);
  });
  stream.on('error', () => undefined);
  const tell = (demand: Partial<EndpointDemand>): void => {
    stream.write({ reporter, leaves: false, demands: [EndpointDemand.fromPartial({ apiKey: core.key, ...demand })] });
  };
  const close = (): void => {
    stream.cancel();
    client.close();
  };
  t.teardown(close);
  return { latest, received, refused, tell, close, leave: () => stream.end({ reporter, leaves: true, demands: [] }) };
}
