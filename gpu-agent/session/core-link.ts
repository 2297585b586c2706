/** The gRPC connections of one session: one for the session itself, one for large payloads, so that these never hold a heartbeat up. */
import { Metadata, credentials } from '@grpc/grpc-js';
import type { ClientDuplexStream } from '@grpc/grpc-js';
import { AgentServiceClient } from '../../proto/gen/slipway/v1/agent_service.ts';
import type { SessionRequest, SessionResponse } from '../../proto/gen/slipway/v1/agent_service.ts';
import { CHANNEL_OPTIONS } from '../../proto/wire/limits.ts';

// A call that was sent twice would be a second session.
const OPTIONS = { ...CHANNEL_OPTIONS, 'grpc.enable_retries': 0 };
/** The default window of 64 KiB would make a large input wait for a round trip per piece. */
const SIDE_OPTIONS = { ...OPTIONS, 'grpc-node.flow_control_window': 4 * 1024 * 1024 };

/** See the file's first line. */
export class CoreLink {
  readonly address: string;
  readonly #metadata = new Metadata();
  readonly #main: AgentServiceClient;
  #side: AgentServiceClient | undefined;

  constructor(address: string, key: string) {
    this.address = address;
    this.#metadata.set('authorization', `Bearer ${key}`);
    this.#main = new AgentServiceClient(address, credentials.createInsecure(), OPTIONS);
  }

  /** Opens the session's stream. */
  openSession(): ClientDuplexStream<SessionRequest, SessionResponse> {
    return this.#main.session(this.#metadata);
  }

  /** The client and metadata for large payloads. Connects when first used. */
  side(): { client: AgentServiceClient; metadata: Metadata } {
    this.#side ??= new AgentServiceClient(this.address, credentials.createInsecure(), SIDE_OPTIONS);
    return { client: this.#side, metadata: this.#metadata };
  }

  close(): void {
    this.#main.close();
    this.#side?.close();
  }
}
