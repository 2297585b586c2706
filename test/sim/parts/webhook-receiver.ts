/**
 * Stands for the HTTP client of webhooks in the simulation (loader.ts): a call arrives, or is lost, or is refused, in
 * virtual time.
 */
import { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';

/** Receives calls. Returns the status of the answer after its time; rejects if the answer is lost. */
export const receiver = {
  receive: async (_url: string, _body: Buffer): Promise<number> => 200,
};

export class Agent {
  destroy(): void {}
}

/** Makes a call, as Node's `request` does. */
export function request(
  { href }: URL,
  _options: object,
  onAnswer: (answer: Readable & { statusCode: number }) => void,
): EventEmitter & { end(body: Buffer): void; writableFinished: boolean } {
  const call = new EventEmitter();
  const end = (body: Buffer): void => {
    receiver.receive(href, body).then(
      (statusCode) => onAnswer(Object.assign(Readable.from([]), { statusCode })),
      (error) => call.emit('error', error),
    );
  };
  return Object.assign(call, { end, writableFinished: true });
}
