/**
 * The gRPC connections of one session: one for the session itself and one for large payloads, so that these never delay
 * a heartbeat.
 */
import type { ClientDuplexStream, Metadata } from '@grpc/grpc-js';
import type { Transport } from '@slipway/kit/net/channel';
import { callMetadata } from '@slipway/kit/net/channel';
import { PieceAgentServiceClient } from '@slipway/kit/net/piece-messages';
import type { TlsSource } from '@slipway/kit/net/tls-source';
import type { SessionRequest, SessionResponse } from '@slipway/proto/gen/slipway/v1/agent_service';
import { AgentServiceClient } from '@slipway/proto/gen/slipway/v1/agent_service';

/** Address of core and credentials of the agent. */
interface CoreLinkOptions {
  /** host:port or grpcs://host:port. */
  address: string;
  key: string;
  tls?: TlsSource | undefined;
  transport: Transport;
}

// A call that is sent twice would be a second session.
const MAIN = { retries: false };
const SIDE = { retries: false, windowBytes: 4 * 1024 * 1024 };

export class CoreLink {
  readonly address: string;
  readonly #tls: TlsSource | undefined;
  readonly #transport: Transport;
  readonly #metadata: Metadata;
  readonly #main: AgentServiceClient;
  #side: AgentServiceClient | undefined;

  /** Throws if the files of `tls` were never valid. */
  constructor({ address, key, tls, transport }: CoreLinkOptions) {
    this.address = address;
    this.#tls = tls;
    this.#transport = transport;
    this.#metadata = callMetadata(key);
    this.#main = transport.openClient(AgentServiceClient, address, { ...MAIN, tls });
  }

  /** Opens the session's stream. */
  openSession(): ClientDuplexStream<SessionRequest, SessionResponse> {
    return this.#main.session(this.#metadata);
  }

  /** Returns the client and metadata for large payloads. Connects on first use. */
  side(): { client: AgentServiceClient; metadata: Metadata } {
    this.#side ??= this.#transport.openClient(PieceAgentServiceClient, this.address, { ...SIDE, tls: this.#tls });
    return { client: this.#side, metadata: this.#metadata };
  }

  close(): void {
    this.#main.close();
    this.#side?.close();
  }
}
