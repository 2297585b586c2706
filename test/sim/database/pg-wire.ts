/** Reads and writes the messages between the driver and PostgreSQL, as far as the gate must know them. */

/** Types of messages, by their letter. */
const TYPE = { sync: 0x53, query: 0x51, flush: 0x48, terminate: 0x58, parse: 0x50, bind: 0x42 } as const;
const ANSWER = { ready: 0x5a, row: 0x54, noData: 0x6e, error: 0x45, notice: 0x41 } as const;

/** Messages that the driver sends together before it waits for their answer. */
export interface Part {
  bytes: Buffer;
  /** SQL of its statement. Empty: none, for instance the end of a failed one. */
  sql: string;
  /** How its answer ends. None: nothing is answered. */
  ends: 'READY' | 'DESCRIBED' | 'NONE';
}

/** Cuts what a driver sends into parts. */
export class DriverMessages {
  #left = Buffer.alloc(0);
  #part: Buffer[] = [];
  #sql = '';
  readonly #statements = new Map<string, string>();

  /** Returns the parts that are whole now. */
  add(bytes: Buffer): Part[] {
    this.#left = Buffer.concat([this.#left, bytes]);
    const parts: Part[] = [];
    while (this.#left.length >= 5) {
      const length = 1 + this.#left.readInt32BE(1);
      if (this.#left.length < length) break;
      const message = this.#left.subarray(0, length);
      this.#left = this.#left.subarray(length);
      this.#part.push(message);
      this.#read(message);
      const type = message[0];
      if (type === TYPE.sync || type === TYPE.query) parts.push(this.#end('READY'));
      else if (type === TYPE.flush) parts.push(this.#end('DESCRIBED'));
      else if (type === TYPE.terminate) parts.push(this.#end('NONE'));
    }
    return parts;
  }

  #read(message: Buffer): void {
    const texts = message.toString('latin1', 5).split('\0');
    if (message[0] === TYPE.query) this.#sql = message.toString('utf8', 5, message.length - 1);
    else if (message[0] === TYPE.parse) {
      this.#sql = message.toString('utf8', 5 + texts[0]!.length + 1).split('\0', 1)[0]!;
      this.#statements.set(texts[0]!, this.#sql);
    } else if (message[0] === TYPE.bind) this.#sql = this.#statements.get(texts[1]!) ?? '';
  }

  #end(ends: Part['ends']): Part {
    const part = { bytes: Buffer.concat(this.#part), sql: this.#sql, ends };
    this.#part = [];
    this.#sql = '';
    return part;
  }
}

/** Transaction state of a connection, as the server reports it: idle, in a transaction, in a failed one. */
export type TransactionState = 'I' | 'T' | 'E';

/** Cuts what the server sends into messages. */
export class ServerMessages {
  #left: Buffer = Buffer.alloc(0);

  add(bytes: Buffer): Buffer[] {
    this.#left = this.#left.length === 0 ? bytes : Buffer.concat([this.#left, bytes]);
    const messages: Buffer[] = [];
    while (this.#left.length >= 5) {
      const length = 1 + this.#left.readInt32BE(1);
      if (this.#left.length < length) break;
      messages.push(this.#left.subarray(0, length));
      this.#left = this.#left.subarray(length);
    }
    return messages;
  }
}

/** Returns the transaction state that a message reports. `undefined`: it is another message. */
export function readyState(message: Buffer): TransactionState | undefined {
  return message[0] === ANSWER.ready ? (String.fromCharCode(message[5]!) as TransactionState) : undefined;
}

/** Returns whether a message ends the description of a statement. */
export function endsDescription(message: Buffer): boolean {
  const [type] = message;
  return type === ANSWER.row || type === ANSWER.noData || type === ANSWER.error;
}

/** Returns whether a message is a notification of another session. */
export function isNotification(message: Buffer): boolean {
  return message[0] === ANSWER.notice;
}

/** Returns a message that ends what was begun, whatever it is. */
export function syncMessage(): Buffer {
  return Buffer.from([TYPE.sync, 0, 0, 0, 4]);
}

/** Returns a message that asks for a statement. */
export function queryMessage(sql: string): Buffer {
  const text = Buffer.from(`${sql}\0`);
  const head = Buffer.alloc(5);
  head[0] = TYPE.query;
  head.writeInt32BE(4 + text.length, 1);
  return Buffer.concat([head, text]);
}

/** Returns what a server sends when a statement fails. */
export function errorMessage(code: string, text: string, severity = 'ERROR'): Buffer {
  const fields = Buffer.from(`S${severity}\0V${severity}\0C${code}\0M${text}\0\0`);
  const head = Buffer.alloc(5);
  head[0] = ANSWER.error;
  head.writeInt32BE(4 + fields.length, 1);
  return Buffer.concat([head, fields]);
}

/** Returns the message that ends an answer. */
export function readyMessage(state: TransactionState): Buffer {
  return Buffer.from([ANSWER.ready, 0, 0, 0, 5, state.charCodeAt(0)]);
}

/** Returns a startup message with other settings. They must not end a session by the real time. */
export function startupWith(message: Buffer, changes: Readonly<Record<string, string>>): Buffer {
  const words = message.toString('utf8', 8, message.length - 2).split('\0');
  const settings = new Map<string, string>();
  for (let at = 0; at + 1 < words.length; at += 2) settings.set(words[at]!, words[at + 1]!);
  for (const [name, value] of Object.entries(changes)) settings.set(name, value);
  const text = Buffer.from(`${[...settings].flat().join('\0')}\0\0`);
  const head = Buffer.alloc(8);
  head.writeInt32BE(8 + text.length, 0);
  head.writeInt32BE(196_608, 4);
  return Buffer.concat([head, text]);
}
