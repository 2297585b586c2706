/** EdgeService: the streams of facades, and whose tunnels they may take. */
import type { EdgeServiceServer } from '../../proto/gen/slipway/v1/edge_service.ts';
import { machineOf } from '../access/agent-key.ts';
import { BaseService } from '../runtime/service.ts';
import type { Service } from '../runtime/service.ts';
import { unary } from './unary.ts';
import { WatchRotation } from './watch-rotation.ts';
import type { WatchParts } from './watch-rotation.ts';

/** The handlers, and a service whose stop ends all streams; stop it before the server, which else waits for them. */
export interface EdgeHandlers {
  handlers: EdgeServiceServer;
  service: Service;
}

/** All streams, so that they can be ended. */
class OpenStreams extends BaseService {
  readonly name = 'edge streams';
  readonly #streams = new Set<WatchRotation>();

  protected override onStart(): void {}

  protected override onStop(): void {
    for (const stream of this.#streams) stream.close();
  }

  add(open: (onEnd: () => void) => WatchRotation): void {
    const stream = open(() => this.#streams.delete(stream));
    this.#streams.add(stream);
    if (this.ending.aborted) stream.close();
  }
}

/** Handlers of the service. */
export function createEdgeHandlers(parts: WatchParts): EdgeHandlers {
  const open = new OpenStreams();
  return { service: open, handlers: {
    watchRotation: (stream) => open.add((onEnd) => new WatchRotation(stream, parts, onEnd)),
    admitTunnel: unary(parts.logger, async (_request, apiKey) => ({ machineId: await machineOf(parts.access, apiKey) })),
  } };
}
