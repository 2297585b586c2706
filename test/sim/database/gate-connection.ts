/** One connection of a replica to PostgreSQL: its end in memory, and the real one to the server. */
import type { Being } from '../world/being.ts';
import type { Backend, BackendPool } from './backend.ts';
import type { Part, TransactionState } from './pg-wire.ts';
import { DriverMessages, endsDescription, isNotification, queryMessage, readyState, startupWith } from './pg-wire.ts';
import { VIRTUAL } from './sim-server.ts';
import type { SimSocket } from './sim-socket.ts';

/** Settings by which the server would end a session by the real clock. */
const TIMELESS = { lock_timeout: '0', idle_in_transaction_session_timeout: '0', idle_session_timeout: '0' };
const BACKEND_KEY = 0x4b;

export class GateConnection {
  readonly name: string;
  readonly owner: Being;
  readonly near: SimSocket;
  readonly #driver = new DriverMessages();
  readonly #session: { pool: BackendPool; database: string; number: number };
  #backend: Backend | undefined;
  /** What the login sets. */
  #login = '';
  /** Parts from the driver that wait to pass. */
  readonly waiting: Part[] = [];
  state: TransactionState = 'I';
  /** Process id of the server. */
  pid = 0;
  /** Nothing passes any more, and neither end knows. */
  isSilent = false;
  /** A statement waits for a lock. */
  isBlocked = false;
  /** It hears notifications. */
  listens = false;
  /** The driver's end is closed. */
  isGone = false;
  hasLoggedIn = false;
  /** A part is on its way to the server, or its answer on the way back. */
  isUnderWay = false;
  /** The server has described a statement and not run it. */
  isMidway = false;
  /** Notifications that have arrived. */
  notices: Buffer[] = [];
  #answer: Buffer[] = [];
  #ends: Part['ends'] = 'NONE';
  /** Number of responses that the gate handles itself and does not pass on. */
  #own = 0;
  #over: (() => void) | undefined;

  /** `number` stands for the process id of the server in statements. */
  constructor(
    { name, owner, near }: { name: string; owner: Being; near: SimSocket },
    session: { pool: BackendPool; database: string; number: number },
  ) {
    this.name = name;
    this.owner = owner;
    this.near = near;
    this.#session = session;
  }

  /** True while the server works on something. */
  get isBusy(): boolean {
    return this.#over !== undefined;
  }

  /** Takes what the driver sends. */
  receive(bytes: Buffer): void {
    if (this.hasLoggedIn) return void this.waiting.push(...this.#driver.add(bytes));
    const login = startupWith(bytes, { database: this.#session.database, ...VIRTUAL, ...TIMELESS });
    this.#login = login.toString('latin1');
    this.waiting.push({ bytes: login, sql: '', ends: 'READY' });
  }

  /** Sends a part. Resolves when its answer is whole, see `takeAnswer`. `before` is run before it. */
  send(part: Part, before = ''): Promise<void> {
    if (!this.#backend) return this.#open(part.bytes);
    this.#ends = part.ends;
    this.isMidway = part.ends === 'DESCRIBED';
    this.#own = before === '' ? 0 : 1;
    return this.#send(before === '' ? part.bytes : Buffer.concat([queryMessage(before), part.bytes]));
  }

  /** Runs a statement of the simulator. */
  async ask(sql: string): Promise<void> {
    this.isMidway = false;
    this.#ends = 'READY';
    this.#own = 0;
    await this.#send(queryMessage(sql));
    this.#answer = [];
  }

  /** Returns what the server has answered since. */
  takeAnswer(): Buffer[] {
    const answer = this.#answer;
    this.#answer = [];
    return answer;
  }

  /**
   * Ends the session. Resolves when its transaction and its locks have ended. If a statement waits for a lock, this
   * must be called again after it.
   */
  async close(): Promise<void> {
    this.isGone = true;
    const backend = this.#backend;
    if (this.isBusy || !backend) return;
    this.#backend = undefined;
    await this.#session.pool.leave(this.#login, backend);
  }

  /** Logs in, or continues a session that has. */
  async #open(login: Buffer): Promise<void> {
    const backend = this.#session.pool.take(this.#login);
    this.#backend = backend;
    this.#over = () => undefined;
    if (backend.greeting.length === 0) await backend.ask(login, 1);
    await backend.ask(queryMessage(`SET sim.pid = '${this.#session.number}'`), 1);
    this.#answer.push(...backend.greeting);
    for (const message of backend.greeting) if (message[0] === BACKEND_KEY) this.pid = message.readInt32BE(5);
    this.#over = undefined;
    backend.onMessage = (message) => this.#read(message);
    backend.onClosed = () => this.#over?.();
  }

  #send(bytes: Buffer): Promise<void> {
    return new Promise((resolve) => {
      this.#over = () => {
        this.#over = undefined;
        resolve();
      };
      this.#backend!.write(bytes);
    });
  }

  #read(message: Buffer): void {
    if (isNotification(message)) return void this.notices.push(message);
    const state = readyState(message);
    if (state) this.state = state;
    if (this.#own > 0) {
      if (state) this.#own = 0;
      return;
    }
    this.#answer.push(message);
    if (this.#ends === 'READY' ? state !== undefined : endsDescription(message)) this.#over?.();
  }
}
