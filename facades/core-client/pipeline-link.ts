/**
 * One long-lived JobService.Pipeline stream to one core replica. The stream is never reset for a single caller: if a
 * caller disconnects, an AbandonCall message is sent.
 */
import type { ClientDuplexStream } from '@grpc/grpc-js';
import { BaseService } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import { BatchQueue, MessageBudget } from '@slipway/kit/net/batch-queue';
import { BatchingStream } from '@slipway/kit/net/batching-stream';
import type { Transport } from '@slipway/kit/net/channel';
import type { TlsSource } from '@slipway/kit/net/tls-source';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type {
  PipelineCall,
  PipelineReply,
  PipelineRequest,
  PipelineResponse,
} from '@slipway/proto/gen/slipway/v1/job_service';
import { JobServiceClient } from '@slipway/proto/gen/slipway/v1/job_service';
import { PIPELINE_CALLS_MAX } from '@slipway/proto/wire/limits';
import { CoreConnection } from './core-connection.ts';
import type { PipelineTicket } from './pipeline-ticket.ts';
import { stayConnected } from './stay-connected.ts';

type Stream = ClientDuplexStream<PipelineRequest, PipelineResponse>;

/** Receives the events of a link. */
export interface LinkOwner {
  /** Called when the link can take calls. */
  linkUp(link: PipelineLink): void;
  /** Called when the stream has ended. The outcome of these calls is unknown. */
  linkDown(link: PipelineLink, lost: PipelineTicket[]): void;
  /** Called when a call was answered. */
  answered(link: PipelineLink, ticket: PipelineTicket, reply: PipelineReply): void;
}

/** Dependencies of a link. */
interface LinkOptions {
  address: string;
  tls: TlsSource | undefined;
  owner: LinkOwner;
  transport: Transport;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/**
 * Most bytes of calls that wait for a core that does not read. Beyond it the link takes no calls until core has caught
 * up.
 */
const OUTBOX_BYTES_MAX = 64 * 1024 * 1024;

export class PipelineLink extends BaseService {
  readonly name: string;
  /** Address of the replica. */
  readonly address: string;
  readonly #options: LinkOptions;
  readonly #inFlight = new Map<number, PipelineTicket>();
  readonly #outbox = new BatchQueue<PipelineCall>({ bytes: OUTBOX_BYTES_MAX });
  #line: CoreConnection<JobServiceClient> | undefined;
  #stream: Stream | undefined;
  #sending: BatchingStream<PipelineRequest> | undefined;
  #lastCallId = 0;
  #running: Promise<void> = Promise.resolve();

  constructor(options: LinkOptions) {
    super();
    this.address = options.address;
    this.name = `pipeline to ${options.address}`;
    this.#options = options;
  }

  /** Whether it can take calls: the stream is open, and core has read what was sent. */
  get isReady(): boolean {
    return this.#stream !== undefined && !this.#outbox.isFull;
  }

  /** Number of calls without an answer. */
  get load(): number {
    return this.#inFlight.size;
  }

  /** Puts a call on the stream. Only while `isReady`. */
  send(ticket: PipelineTicket): void {
    this.#lastCallId += 1;
    ticket.callId = this.#lastCallId;
    ticket.sends += 1;
    ticket.abandonSent = false;
    this.#inFlight.set(ticket.callId, ticket);
    const call = ticket.messageAt(this.#options.clock.monotonicMs());
    this.#post({ callId: ticket.callId, apiKey: ticket.apiKey, call, firstSend: ticket.sends === 1 }, ticket.bytes);
    this.#line?.expectAnswer();
    if (ticket.abandoned) this.abandon(ticket);
  }

  /** Asks core to answer a waiting call now. */
  abandon(ticket: PipelineTicket): void {
    if (ticket.abandonSent || this.#inFlight.get(ticket.callId) !== ticket) return;
    ticket.abandonSent = true;
    this.#post({ callId: 0, apiKey: ticket.apiKey, call: { $case: 'abandon', value: { callId: ticket.callId } } }, 32);
  }

  /** Stops expecting an answer. */
  forget(ticket: PipelineTicket): void {
    if (this.#inFlight.get(ticket.callId) === ticket) this.#inFlight.delete(ticket.callId);
  }

  /** Returns all calls without an answer. */
  tickets(): Iterable<PipelineTicket> {
    return this.#inFlight.values();
  }

  protected override onStart(): void {
    const { address, tls, transport, logger } = this.#options;
    const line = new CoreConnection({
      open: () => transport.openClient(JobServiceClient, address, { tls, retries: false }),
      clock: this.#options.clock,
    });
    this.#line = line;
    const onAway = (): void =>
      logger.warn({ address }, 'core cannot be reached, will try again: does it run, and is this its address?');
    const parts = { ...this.#options, signal: this.ending, onAway };
    this.#running = stayConnected(
      () => [line],
      () => this.#serve(line),
      parts,
    ).finally(() => line.close());
  }

  protected override async onStop(): Promise<void> {
    this.#stream?.end();
    this.#stream?.cancel();
    await this.#running;
  }

  #post(call: PipelineCall, bytes: number): void {
    this.#outbox.add(call, bytes);
    this.#sending?.wake();
  }

  /** Uses one stream until it ends. */
  #serve(line: CoreConnection<JobServiceClient>): Promise<void> {
    return new Promise((resolve) => {
      const { owner, clock, logger } = this.#options;
      const stream = line.client.pipeline();
      let cause = 'ended by core';
      let ended = false;
      const end = (): void => {
        if (ended) return;
        ended = true;
        leave();
        if (!this.ending.aborted) logger.warn({ cause, link: this.name }, 'pipeline lost, will connect again');
        owner.linkDown(this, this.#drop());
        resolve();
      };
      const leave = line.use({
        isWaiting: () => this.#inFlight.size > 0,
        onDead: () => {
          cause = 'its connection is dead';
          end();
          stream.cancel();
        },
      });
      stream.on('data', (response: PipelineResponse) => {
        line.markSeen();
        this.#receive(response);
      });
      stream.on('error', (error) => {
        cause = error.message;
        end();
      });
      stream.on('end', () => {
        stream.end();
        end();
      });
      stream.on('close', end);
      this.#stream = stream;
      const take = (): PipelineRequest | undefined => {
        const calls = this.#outbox.take(new MessageBudget({ items: PIPELINE_CALLS_MAX }));
        return calls.length > 0 ? { calls } : undefined;
      };
      this.#sending = new BatchingStream({ sink: stream, clock, take });
      owner.linkUp(this);
    });
  }

  #receive(response: PipelineResponse): void {
    for (const reply of response.replies) {
      const ticket = this.#inFlight.get(reply.callId);
      if (ticket === undefined || reply.reply === undefined) continue;
      this.#inFlight.delete(reply.callId);
      this.#options.owner.answered(this, ticket, reply);
    }
  }

  #drop(): PipelineTicket[] {
    const lost = [...this.#inFlight.values()];
    this.#inFlight.clear();
    this.#outbox.clear();
    this.#stream = undefined;
    this.#sending?.stop();
    this.#sending = undefined;
    return lost;
  }
}
