/**
 * The part of a job's trace that an agent records: the attempt from its arrival, and the handler from the moment when
 * its worker was given the job.
 */
import type { Trace } from '@slipway/kit/observe/trace';
import type { Tracing } from '@slipway/kit/observe/tracing';
import type { AttemptRef } from '@slipway/proto/gen/slipway/v1/agent_service';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import { enumName } from '@slipway/proto/wire/enum-name';

export class AttemptTrace {
  readonly #tracing: Tracing | undefined;
  readonly #traceparent: string;
  readonly #attributes: Record<string, string | number>;
  readonly #attempt: Trace | undefined;
  #handler: Trace | undefined;

  /** If tracing is off here, the context is passed on as it came. */
  constructor(tracing: Tracing | undefined, traceparent: string, { endpointId, jobId, attempt, workerId }: AttemptRef) {
    this.#tracing = tracing;
    this.#traceparent = traceparent;
    this.#attributes = {
      'slipway.endpoint.id': endpointId,
      'slipway.job.id': jobId,
      'slipway.attempt': attempt,
      'slipway.worker.id': workerId,
    };
    this.#attempt = tracing?.child('attempt', 'consumer', traceparent, this.#attributes);
  }

  /** Records that the worker is given the job. Returns the trace context for the handler. */
  handed(): string {
    this.#handler ??= this.#tracing?.child('handler', 'internal', this.#attempt?.traceparent, this.#attributes);
    return this.#handler?.traceparent ?? this.#attempt?.traceparent ?? this.#traceparent;
  }

  /** Records the end of the attempt. The handler's error text is left out. */
  end(kind: OutcomeKind): void {
    const name = enumName(OutcomeKind, kind);
    const error = kind === OutcomeKind.COMPLETED ? undefined : name;
    for (const trace of [this.#handler, this.#attempt]) {
      trace?.set({ 'slipway.outcome': name });
      trace?.end(error);
    }
  }
}
