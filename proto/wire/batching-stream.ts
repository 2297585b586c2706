/**
 * The sending side of a long stream. One message is in flight at a time; what gathers until the transport has taken it leaves together with
 * the next one. There is no timer: a single thing leaves after the present turn, under load the messages grow by themselves, and a peer that
 * does not read gets nothing more, so that what waits stays with its owner, who bounds it (`BatchQueue`) and decides what goes first.
 */

/** A stream that messages are written to, as gRPC has it. */
export interface MessageSink<Message> {
  /** `left`: the transport has taken the message and has room for another. Never called when the stream has broken. */
  write(message: Message, left: (error?: Error | null) => void): void;
}

/** Between what and what it stands. */
export interface BatchingOptions<Message> {
  sink: MessageSink<Message>;
  /** `soon` calls `fn` after what else is ready in this turn of the loop. */
  clock: { soon(fn: () => void): void };
  /** The next message, of all that waits or as much as fits (`MessageRoom`); undefined: nothing waits. */
  take(): Message | undefined;
  /** A message has left. */
  onLeft?(message: Message): void;
}

export class BatchingStream<Message> {
  readonly #options: BatchingOptions<Message>;
  #scheduled = false;
  #inFlight = false;
  #closed = false;

  constructor(options: BatchingOptions<Message>) {
    this.#options = options;
  }

  /** A message was written that has not left yet. */
  get inFlight(): boolean {
    return this.#inFlight;
  }

  /** Something waits. Call it whenever something was added. */
  wake(): void {
    if (this.#scheduled || this.#inFlight || this.#closed) return;
    this.#scheduled = true;
    // So that all that one network read brings leaves in one message.
    this.#options.clock.soon(() => {
      this.#scheduled = false;
      this.#next();
    });
  }

  /** Writes all that waits, without waiting for anything, and nothing afterwards. The owner may end the stream then: what was written goes first. */
  close(): void {
    while (!this.#closed && this.#write());
    this.#closed = true;
  }

  /** Writes nothing any more: the stream has broken, or nobody wants what waits. */
  stop(): void {
    this.#closed = true;
  }

  #next(): void {
    if (!this.#inFlight && !this.#closed) this.#write();
  }

  #write(): boolean {
    const message = this.#options.take();
    if (message === undefined) return false;
    this.#inFlight = true;
    this.#options.sink.write(message, (error) => {
      // How a stream breaks its owner learns from the stream itself.
      if (error) return;
      this.#inFlight = false;
      this.#options.onLeft?.(message);
      this.#next();
    });
    return true;
  }
}
