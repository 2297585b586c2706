/** A helper process that the broker started, as the agent sees it. */
import type { BrokerListener, BrokerResponse } from './broker-protocol.ts';
import type { HelperRequest } from './helper-protocol.ts';
import { Helper } from './helper-requests.ts';

/** Sends messages about one helper to the broker. */
interface ToBroker {
  ask(request: HelperRequest): void;
  kill(): void;
}

export class BrokeredHelper extends Helper implements BrokerListener {
  readonly #toBroker: ToBroker;

  constructor(toBroker: ToBroker) {
    super();
    this.#toBroker = toBroker;
  }

  override kill(): void {
    if (this.ended('it was ended')) this.#toBroker.kill();
  }

  received(response: BrokerResponse): void {
    if ('ended' in response) this.ended(response.ended);
    else if ('response' in response) this.responded(response.response);
  }

  gone(why: string): void {
    this.ended(why);
  }

  protected override send(request: HelperRequest): void {
    this.#toBroker.ask(request);
  }
}
