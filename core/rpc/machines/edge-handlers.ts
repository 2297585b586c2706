/** EdgeService: the streams of facades, the tunnels that they may use, and the requests that they rejected. */

import type { Sealer } from '@slipway/kit/host/seal';
import type { Service } from '@slipway/kit/lifecycle/service';
import { BaseService } from '@slipway/kit/lifecycle/service';
import type { EdgeServiceServer } from '@slipway/proto/gen/slipway/v1/edge_service';
import { machineOf } from '../../access/agent-key.ts';
import { podNotFound } from '../../domain/pods/pod.ts';
import { locatePod } from '../../edge/locate-pod.ts';
import type { RejectionTracker } from '../../edge/rejection-tracker.ts';
import type { RequestMeter } from '../../edge/request-meter.ts';
import { keyHashOf } from '../../joining/tunnel-key.ts';
import type { Stores } from '../../store/storage.ts';
import { ownAccount } from '../server/own-account.ts';
import { unary } from '../server/unary.ts';
import type { WatchParts } from './backend-stream.ts';
import { BackendStream } from './backend-stream.ts';
import { isEdgeKey } from './edge-key.ts';
import { recordRejections } from './record-rejections.ts';
import { recordRequests } from './record-requests.ts';

/**
 * The handlers, and a service whose stop ends all streams. Stop it before the server, which otherwise waits for them.
 */
interface EdgeHandlers {
  handlers: EdgeServiceServer;
  service: Service;
}

/** Tracks all streams, so that they can be ended. */
class OpenStreams extends BaseService {
  readonly name = 'edge streams';
  readonly #streams = new Set<BackendStream>();

  protected override onStart(): void {}

  protected override onStop(): void {
    for (const stream of this.#streams) stream.close();
  }

  add(open: (onEnd: () => void) => BackendStream): void {
    const stream = open(() => this.#streams.delete(stream));
    this.#streams.add(stream);
    if (this.ending.aborted) stream.close();
  }
}

/** Returns the handlers of the service. */
export function createEdgeHandlers(
  parts: WatchParts & {
    edge: Pick<Stores['edge'], 'pod'>;
    rejections: RejectionTracker;
    requests: RequestMeter;
    sealer: Sealer;
  },
): EdgeHandlers {
  const { access, edge, rejections, requests, logger } = parts;
  const open = new OpenStreams();
  /** Returns the account of a key. Throws NOT_FOUND for a key that is limited to some endpoints: it may use no pods. */
  const ownerOf = async (apiKey: string, write: boolean, podId: string): Promise<string> => {
    const { accountId, caller } = await ownAccount(access, apiKey, write);
    if (caller.endpointIds.length > 0) throw podNotFound(podId);
    return accountId;
  };
  return {
    service: open,
    handlers: {
      watchRotation: (stream) => open.add((onEnd) => new BackendStream(stream, parts, onEnd)),
      admitTunnel: unary(logger, async (_request, apiKey) => {
        const keyHash = keyHashOf(parts.sealer, apiKey);
        const machineId =
          keyHash === undefined
            ? await machineOf(access, { apiKey, certificate: undefined })
            : (await access.certified(keyHash)).machineId!;
        return { machineId };
      }),
      tellRefusals: unary(logger, async ({ endpoints }) => {
        await recordRejections(access, rejections, endpoints);
        return {};
      }),
      reportRequests: unary(logger, async ({ endpoints }, apiKey) => {
        await recordRequests(access, requests, endpoints, isEdgeKey(apiKey, parts.edgeKeys));
        return {};
      }),
      locatePod: unary(logger, async ({ podId, port, write, open: needsNoKey }, apiKey) =>
        locatePod(edge, needsNoKey ? undefined : await ownerOf(apiKey, write, podId), podId, port),
      ),
    },
  };
}
