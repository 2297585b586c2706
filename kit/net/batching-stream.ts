/**
 * The sending side of a long stream. One message is in flight at a time; items that arrive until the transport has
 * taken it leave together in the next message. There is no timer: a single item leaves after the current tick, and
 * under load messages grow. A peer that does not read gets nothing more: items wait with their owner, who bounds them
 * (`BatchQueue`) and decides their order.
 */

/** A stream to write to, as gRPC has it. */
export interface MessageSink<Message> {
  /**
   * Sends a message. Calls `left` when the transport has taken it and accepts another, and never if the stream breaks.
   */
  write(message: Message, left: (error?: Error | null) => void): void;
}

/** Options of the stream. */
interface BatchingOptions<Message> {
  sink: MessageSink<Message>;
  /** `soon` calls `fn` after the other events of this tick. */
  clock: { soon(fn: () => void): void };
  /** Returns the next message (see `MessageBudget` for its size). `undefined` if nothing waits. */
  take(): Message | undefined;
  /** Called when a message has left. */
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

  /** True while a written message has not left. */
  get inFlight(): boolean {
    return this.#inFlight;
  }

  /** Sends soon. Call it after adding an item. */
  wake(): void {
    if (this.#scheduled || this.#inFlight || this.#closed) return;
    this.#scheduled = true;
    // After the current tick, so that all items of one network read leave in one message.
    this.#options.clock.soon(() => {
      this.#scheduled = false;
      this.#next();
    });
  }

  /** Writes all waiting items at once, and nothing afterwards. The owner may then end the stream. */
  close(): void {
    while (!this.#closed && this.#write());
    this.#closed = true;
  }

  /** Stops writing: the stream is broken or no longer needed. */
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
      // The stream itself reports to its owner how it broke.
      if (error) return;
      this.#inFlight = false;
      this.#options.onLeft?.(message);
      this.#next();
    });
    return true;
  }
}
