/**
 * The gate between replicas and PostgreSQL. Each statement waits here until its event comes, which is when the seed
 * says so; one runs at a time. A statement that waits for the lock of another one is left waiting while others pass.
 * Here a fault may strike: before a statement, after its commit, in place of it, or on the way back.
 */
import { createHash } from 'node:crypto';
import { type Being, NATURE } from '../world/being.ts';
import { isWithin, realPause } from '../world/process-time.ts';
import type { World } from '../world/world.ts';
import { BEGIN_MS } from '../world/world.ts';
import { BackendPool } from './backend.ts';
import { GateConnection } from './gate-connection.ts';
import { waitsForLock } from './lock-waits.ts';
import type { Part } from './pg-wire.ts';
import { errorMessage, readyMessage } from './pg-wire.ts';
import type { PlainConnection } from './sim-server.ts';
import type { SimSocket } from './sim-socket.ts';
import { listenAt } from './sim-socket.ts';
import type { StatementFault } from './statement-faults.ts';
import { ERROR_TEXTS } from './statement-faults.ts';

interface GateOptions {
  world: World;
  /** Socket of the server. */
  path: string;
  database: string;
  admin: PlainConnection;
  /** Returns the fault that strikes at a statement of a replica. `runs`: it is run, not only described. */
  chooseFault(sql: string, runs: boolean, owner: Being): StatementFault | undefined;
  /** Returns the milliseconds until a notification arrives, or `undefined` to drop it. */
  noticeMs(): number | undefined;
  /** Kills the replica of a connection. */
  kill(owner: Being, why: string): Promise<void>;
}

/** Time until a lock is looked for, in real milliseconds: it only costs time. */
const ANSWER_MS = 12;
/** When the server ends a session of which it hears nothing, in virtual milliseconds (core/store/sql). */
const SILENT_TRANSACTION_MS = 20_000;
const SILENT_LISTENER_MS = 10_000;
const LATENCY_MS = { least: 0.1, most: 2 };
/** Delays of a late statement and of a slow database's answer, in virtual milliseconds. */
const LATE_MS = { least: 30, most: 600 };
const SLOW_MS = { least: 4_000, most: 8_000 };

export class Gate {
  readonly #options: GateOptions;
  readonly #all = new Set<GateConnection>();
  readonly #pool: BackendPool;
  /** The database refuses connections until then, in virtual milliseconds. */
  #downUntilMs = 0;
  /** Difference of the database's clock, in milliseconds. */
  clockErrorMs = 0;
  statements = 0;
  /** The database is slow in this span of virtual milliseconds. */
  slow = { fromMs: Infinity, untilMs: Infinity };
  /** Connections that replicas have closed by themselves. */
  closed = 0;
  #numbers = 0;
  /** Ends listening for each replica that lives. */
  readonly #hosts = new Map<Being, () => void>();

  constructor(options: GateOptions) {
    this.#options = options;
    this.#pool = new BackendPool(options.path);
  }

  /** Connections of replicas that live, by name. */
  get connections(): GateConnection[] {
    return [...this.#all].filter(({ owner, isGone }) => !owner.dead && !isGone);
  }

  /** Lets a replica connect to a host name of its own. */
  open(owner: Being, host: string): void {
    let count = 0;
    const accept = (near: SimSocket) => this.#accept(owner, near, `${owner.name}.${(count += 1)}`);
    this.#hosts.set(owner, listenAt(host, accept));
  }

  /** Closes all that is left. */
  async endAll(): Promise<void> {
    for (const connection of this.#all) await this.#end(connection);
    this.#pool.close();
  }

  /**
   * Closes a connection, then tells the driver. Never in the other order: the driver would work on while the server
   * takes its real time to end the session, and how far it came would be chance.
   */
  async cut(connection: GateConnection): Promise<void> {
    await this.#end(connection);
    tellOfCut(connection);
  }

  /** Closes the connections of a dead replica. */
  async end(owner: Being): Promise<void> {
    this.#hosts.get(owner)?.();
    this.#hosts.delete(owner);
    for (const connection of this.#all) if (connection.owner === owner) await this.#end(connection);
  }

  /** Ends all sessions, and refuses new ones for so many virtual milliseconds. */
  async restart(ms: number): Promise<void> {
    this.#downUntilMs = this.#options.world.nowMs + ms;
    const { connections } = this;
    for (const connection of connections) await this.#end(connection);
    for (const connection of connections) tellOfCut(connection);
  }

  /** Makes nothing pass on a connection any more, without telling either end. */
  silence(connection: GateConnection): void {
    const { world } = this.#options;
    connection.isSilent = true;
    const ms = connection.listens ? SILENT_LISTENER_MS : SILENT_TRANSACTION_MS;
    if (connection.listens || connection.state !== 'I') world.perform(ms, NATURE, () => this.#end(connection));
  }

  #accept(owner: Being, near: SimSocket, name: string): { receive(bytes: Buffer): void; closed(): void } {
    const { world, database } = this.#options;
    if (owner.dead) return { receive: () => undefined, closed: () => undefined };
    let connection: GateConnection | undefined;
    world.after(world.between(LATENCY_MS.least, LATENCY_MS.most), owner, () => {
      if (near.destroyed) return;
      if (world.nowMs < this.#downUntilMs)
        return near.destroy(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }));
      const number = (this.#numbers += 1);
      connection = new GateConnection({ name, owner, near }, { pool: this.#pool, database, number });
      this.#all.add(connection);
      near.opened();
    });
    return {
      receive: (bytes) => this.#receive(connection!, bytes),
      closed: () => {
        if (!connection || connection.isGone) return;
        connection.isGone = true;
        this.closed += 1;
        // A connection that is cut off reaches the server no more: it learns of its end later.
        if (!connection.isSilent) world.perform(0, NATURE, () => this.#end(connection!));
      },
    };
  }

  #receive(connection: GateConnection, bytes: Buffer): void {
    connection.receive(bytes);
    if (!connection.isUnderWay) this.#schedule(connection);
  }

  #schedule(connection: GateConnection): void {
    const { world } = this.#options;
    connection.isUnderWay = connection.waiting.length > 0 && !connection.isGone && !connection.isSilent;
    if (!connection.isUnderWay) return;
    world.perform(world.between(LATENCY_MS.least, LATENCY_MS.most), connection.owner, () => this.#pass(connection));
  }

  async #pass(connection: GateConnection): Promise<void> {
    if (connection.isGone || connection.isSilent) return;
    const part = connection.waiting.shift();
    if (!part) return;
    if (part.ends === 'NONE') return void (await this.#end(connection));
    const { world, chooseFault } = this.#options;
    const { owner } = connection;
    const fault = connection.hasLoggedIn ? chooseFault(part.sql, part.ends === 'READY', owner) : undefined;
    if (fault) world.fault(fault, connection.name, nameOf(part.sql));
    if (fault !== 'statement late') return this.#run(connection, part, fault);
    world.perform(world.between(LATE_MS.least, LATE_MS.most), owner, () => this.#run(connection, part, undefined));
  }

  async #run(connection: GateConnection, part: Part, fault: StatementFault | undefined): Promise<void> {
    if (connection.isGone || connection.isSilent) return;
    const { world, kill } = this.#options;
    if (fault === 'killed before a statement') return kill(connection.owner, fault);
    if (fault === 'cut before a statement') return this.cut(connection);
    if (fault === 'silent connection') return this.silence(connection);
    if (fault?.startsWith('error ')) return this.#reject(connection, part, fault.slice('error '.length));
    this.statements += 1;
    if (/^\s*LISTEN/i.test(part.sql)) connection.listens = true;
    const isFirst = connection.hasLoggedIn && !connection.isMidway;
    const answered = connection.send(part, isFirst ? this.#instant(connection) : '');
    if (!(await this.#isAnswered(connection, answered))) {
      connection.isBlocked = true;
      world.note('blocked', connection.name, nameOf(part.sql));
      return;
    }
    await this.#answered(connection, part, fault);
    await this.#unblock();
  }

  async #answered(connection: GateConnection, part: Part, fault: StatementFault | undefined): Promise<void> {
    const { world, kill } = this.#options;
    const answer = connection.takeAnswer();
    world.note('passed', connection.name, nameOf(part.sql), answer.length);
    if (part.sql.includes('pg_notify(')) await this.#gatherNotices();
    if (fault === 'killed after a commit') return kill(connection.owner, fault);
    if (fault === 'answer lost') return this.cut(connection);
    if (connection.isGone || connection.owner.dead) return;
    connection.hasLoggedIn = true;
    const isSlow = world.nowMs >= this.slow.fromMs && world.nowMs < this.slow.untilMs;
    const usualMs = isSlow ? world.between(SLOW_MS.least, SLOW_MS.most) : world.between(0, LATENCY_MS.most);
    const ms = fault === 'answer late' ? world.between(500, 8_000) : usualMs;
    world.after(ms, connection.owner, () => {
      if (connection.isGone || connection.isSilent) return;
      connection.near.arrive(Buffer.concat(answer));
      this.#schedule(connection);
    });
  }

  /** Sends an error to the driver instead of the server's response. */
  async #reject(connection: GateConnection, part: Part, code: string): Promise<void> {
    const isFatal = code === '57P01';
    const error = errorMessage(code, ERROR_TEXTS[code]!, isFatal ? 'FATAL' : 'ERROR');
    if (isFatal) {
      await this.#end(connection);
      connection.near.arrive(error);
      return tellOfCut(connection);
    }
    // The transaction has failed on the server as well.
    if (connection.state === 'T') await connection.ask('SELECT 1 / 0');
    else if (connection.isMidway) await connection.ask('SELECT 1');
    connection.near.arrive(part.ends === 'READY' ? Buffer.concat([error, readyMessage(connection.state)]) : error);
    this.#schedule(connection);
  }

  /** Returns the statement that sets the time: that of a transaction is the time of its begin. */
  #instant({ state }: GateConnection): string {
    const seconds = ((BEGIN_MS + this.clockErrorMs + this.#options.world.nowMs) / 1_000).toFixed(6);
    const clock = `SET sim.clock = '${seconds}'`;
    return state === 'I' ? `${clock}; SET sim.now = '${seconds}'` : clock;
  }

  /** Returns false if the statement waits for the lock of another one, however slow the server is. */
  async #isAnswered(connection: GateConnection, answered: Promise<void>): Promise<boolean> {
    for (;;) {
      if ((await isWithin(answered, ANSWER_MS)) || !connection.isBusy) return true;
      if (await waitsForLock(this.#options.admin, connection.pid)) return false;
    }
  }

  /**
   * Goes on with statements whose lock has become free. The end of one may free another that was looked at before, so
   * it looks until nothing has changed: what went on by itself would run beside the next statement.
   */
  async #unblock(): Promise<void> {
    let isChanged = true;
    while (isChanged) {
      isChanged = false;
      for (const connection of this.#all) {
        if (!connection.isBlocked) continue;
        while (connection.isBusy && !(await waitsForLock(this.#options.admin, connection.pid))) await realPause(1);
        if (connection.isBusy) continue;
        isChanged = true;
        connection.isBlocked = false;
        await this.#answered(connection, { bytes: Buffer.alloc(0), sql: 'blocked before', ends: 'READY' }, undefined);
        if (connection.isGone) await this.#end(connection);
      }
    }
  }

  async #end(connection: GateConnection): Promise<void> {
    if (!this.#all.has(connection)) return;
    await connection.close();
    // Blocked: it goes on until it gets its lock, as a server does whose client is gone.
    if (connection.isBusy) return;
    this.#all.delete(connection);
    await this.#unblock();
  }

  /** Fetches the notifications of a commit from all who listen: when they come by themselves is nobody's choice. */
  async #gatherNotices(): Promise<void> {
    const { world, noticeMs } = this.#options;
    for (const listener of this.connections.filter(({ listens, isBusy }) => listens && !isBusy)) {
      await listener.ask('');
      const { notices } = listener;
      listener.notices = [];
      for (const notice of notices) {
        const ms = noticeMs();
        if (ms === undefined) world.fault('notification dropped', listener.name);
        else
          world.after(ms, listener.owner, () => {
            if (!listener.isGone && !listener.isSilent) listener.near.arrive(notice);
          });
      }
    }
  }
}

function tellOfCut({ near }: GateConnection): void {
  near.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
}

/** Returns a short name of a statement for the trace. */
function nameOf(sql: string): string {
  return sql === '' ? '-' : createHash('sha1').update(sql).digest('hex').slice(0, 6);
}
