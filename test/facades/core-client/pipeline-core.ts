/** The core's end of a pipeline: a real gRPC server with scripted answers. */
import type { Server, ServerDuplexStream, sendUnaryData, UntypedServiceImplementation } from '@grpc/grpc-js';
import { openServer, systemTransport } from '@slipway/kit/net/channel';
import type { CheckAccessResponse } from '@slipway/proto/gen/slipway/v1/access_service';
import { AccessServiceService } from '@slipway/proto/gen/slipway/v1/access_service';
import type {
  JobServiceServer,
  PipelineCall,
  PipelineReply,
  PipelineRequest,
  PipelineResponse,
} from '@slipway/proto/gen/slipway/v1/job_service';
import { JobServiceService } from '@slipway/proto/gen/slipway/v1/job_service';
import type { Test } from 'tap';

type Stream = ServerDuplexStream<PipelineRequest, PipelineResponse>;

/** Decides over each call: a reply, or undefined to stay silent. */
export type Answer = (call: PipelineCall, core: PipelineCore) => PipelineReply['reply'] | undefined;

export class PipelineCore {
  /** All messages so far, oldest first. */
  readonly messages: PipelineCall[][] = [];
  /** CheckAccess as calls of their own so far, which get `grant`. */
  checks = 0;
  grant: CheckAccessResponse | undefined;
  address = '';
  #server: Server | undefined;
  #streams = new Set<Stream>();
  readonly #answer: Answer;

  constructor(t: Test, answer: Answer) {
    this.#answer = answer;
    t.teardown(() => this.kill());
  }

  /** All calls so far. */
  get calls(): PipelineCall[] {
    return this.messages.flat();
  }

  /** Listens; on the same port again after a kill. */
  async start(): Promise<this> {
    const handlers: Pick<JobServiceServer, 'pipeline'> = { pipeline: (stream) => this.#open(stream) };
    const checkAccess = (_call: unknown, done: sendUnaryData<CheckAccessResponse>): void => {
      this.checks += 1;
      done(null, this.grant);
    };
    const server = openServer([
      [JobServiceService, handlers as UntypedServiceImplementation],
      [AccessServiceService, { checkAccess }],
    ]);
    const port = await systemTransport.listen(server, this.address === '' ? '127.0.0.1:0' : this.address);
    this.address = `127.0.0.1:${port}`;
    this.#server = server;
    return this;
  }

  /** Drops everything, as kill -9 does. */
  kill(): void {
    this.#server?.forceShutdown();
    this.#streams.clear();
  }

  /** Stops reading, as a core with too much to do does, or reads again. */
  read(reads: boolean): void {
    for (const stream of this.#streams) {
      if (reads) stream.resume();
      else stream.pause();
    }
  }

  /** Sends a reply on every open stream. */
  send(callId: number, reply: PipelineReply['reply']): void {
    for (const stream of this.#streams) stream.write({ replies: [{ callId, reply }] });
  }

  #open(stream: Stream): void {
    this.#streams.add(stream);
    stream.on('error', () => undefined);
    stream.on('end', () => stream.end());
    stream.on('data', ({ calls }: PipelineRequest) => {
      this.messages.push(calls);
      const replies = calls
        .map((call) => ({ callId: call.callId, reply: this.#answer(call, this) }))
        .filter(({ reply }) => reply !== undefined);
      if (replies.length > 0) stream.write({ replies });
    });
  }
}
