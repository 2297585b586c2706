/**
 * Sessions of the server. One whose client has gone is rolled back and discards all of its state, as the server does
 * with it, and is used again: to start a process costs the server more than all else that a kill costs.
 */
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { queryMessage, readyState, ServerMessages, syncMessage } from './pg-wire.ts';

/** Statements that reset a session: they end its transaction and drop its settings. */
const RESET = Buffer.concat([syncMessage(), queryMessage('ROLLBACK'), queryMessage('DISCARD ALL')]);
const RESET_ANSWERS = 3;

export class Backend {
  readonly #far: Socket;
  readonly #server = new ServerMessages();
  readonly #greeting: Buffer[] = [];
  #isGreeted = false;
  isClosed = false;
  /** Receives what the server sends, after the login. */
  onMessage: (message: Buffer) => void = () => undefined;
  /** Called when the server has closed it. */
  onClosed: () => void = () => undefined;

  constructor(path: string) {
    this.#far = connect(path);
    this.#far.on('error', () => undefined);
    this.#far.on('data', (bytes: Buffer) => {
      for (const message of this.#server.add(bytes)) this.#receive(message);
    });
    this.#far.on('close', () => {
      this.isClosed = true;
      this.onClosed();
    });
  }

  /** Answer of the server to its login. */
  get greeting(): readonly Buffer[] {
    return this.#greeting;
  }

  write(bytes: Buffer): void {
    this.#far.write(bytes);
  }

  /** Sends messages. Resolves when so many of them are answered, or the session is closed. */
  ask(bytes: Buffer, answers: number): Promise<void> {
    return new Promise((resolve) => {
      let left = answers;
      this.onClosed = resolve;
      this.onMessage = (message) => {
        if (readyState(message) !== undefined && (left -= 1) === 0) resolve();
      };
      this.#far.write(bytes);
    });
  }

  /** Ends its transaction, its locks and all of its state. */
  reset(): Promise<void> {
    return this.ask(RESET, RESET_ANSWERS);
  }

  destroy(): void {
    this.#far.destroy();
  }

  #receive(message: Buffer): void {
    if (!this.#isGreeted) {
      this.#greeting.push(message);
      this.#isGreeted = readyState(message) !== undefined;
    }
    this.onMessage(message);
  }
}

/** Sessions that wait for another client, by what their login has set. */
export class BackendPool {
  readonly #path: string;
  readonly #free = new Map<string, Backend[]>();

  constructor(path: string) {
    this.#path = path;
  }

  /** Returns a session that waits, or a new one that has to log in. */
  take(login: string): Backend {
    return this.#free.get(login)?.pop() ?? new Backend(this.#path);
  }

  /** Resets a session, which then waits for another client. */
  async leave(login: string, backend: Backend): Promise<void> {
    await backend.reset();
    const free = this.#free.get(login);
    if (backend.isClosed) return;
    if (free) free.push(backend);
    else this.#free.set(login, [backend]);
  }

  /** Ends all sessions that wait. */
  close(): void {
    for (const backend of [...this.#free.values()].flat()) backend.destroy();
  }
}
