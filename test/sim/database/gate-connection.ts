/** One connection of a replica to PostgreSQL: its end in memory, and the real one to the server. */
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import type { Being } from '../world/being.ts';
import type { Part, TransactionState } from './pg-wire.ts';
import {
  DriverMessages,
  endsDescription,
  isNotification,
  queryMessage,
  readyState,
  ServerMessages,
  startupWith,
} from './pg-wire.ts';
import { VIRTUAL } from './sim-server.ts';
import type { SimSocket } from './sim-socket.ts';

/** Settings by which the server would end a session by the real clock. */
const TIMELESS = { lock_timeout: '0', idle_in_transaction_session_timeout: '0', idle_session_timeout: '0' };
const BACKEND_KEY = 0x4b;

export class GateConnection {
  readonly name: string;
  readonly owner: Being;
  readonly near: SimSocket;
  readonly #far: Socket;
  readonly #driver = new DriverMessages();
  readonly #server = new ServerMessages();
  readonly #closed: Promise<void>;
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

  readonly #settings: Readonly<Record<string, string>>;

  /** `number` stands for the process id of the server in statements. */
  constructor(name: string, owner: Being, near: SimSocket, path: string, database: string, number: number) {
    this.#settings = { database, ...VIRTUAL, ...TIMELESS, 'sim.pid': String(number) };
    this.name = name;
    this.owner = owner;
    this.near = near;
    this.#far = connect(path);
    this.#far.on('error', () => undefined);
    this.#far.on('data', (bytes: Buffer) => {
      for (const message of this.#server.add(bytes)) this.#read(message);
    });
    this.#closed = new Promise((resolve) => {
      this.#far.on('close', () => {
        resolve();
        this.#over?.();
      });
    });
  }

  /** True while the server works on something. */
  get isBusy(): boolean {
    return this.#over !== undefined;
  }

  /** Takes what the driver sends. */
  receive(bytes: Buffer): void {
    if (this.hasLoggedIn) this.waiting.push(...this.#driver.add(bytes));
    else this.waiting.push({ bytes: startupWith(bytes, this.#settings), sql: '', ends: 'READY' });
  }

  /** Sends a part. Resolves when its answer is whole, see `takeAnswer`. `before` is run before it. */
  send(part: Part, before = ''): Promise<void> {
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

  /** Closes the server's end. Resolves when its process has ended, and with it its transaction and its locks. */
  async close(): Promise<void> {
    this.isGone = true;
    this.#far.end();
    if (!this.isBusy) await this.#closed;
  }

  #send(bytes: Buffer): Promise<void> {
    return new Promise((resolve) => {
      this.#over = () => {
        this.#over = undefined;
        resolve();
      };
      this.#far.write(bytes);
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
    if (message[0] === BACKEND_KEY) this.pid = message.readInt32BE(5);
    this.#answer.push(message);
    if (this.#ends === 'READY' ? state !== undefined : endsDescription(message)) this.#over?.();
  }
}
