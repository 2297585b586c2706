/** Chooses the faults of a run: at statements, and at moments of its own. */
import type { Gate } from '../database/gate.ts';
import type { StatementFault } from '../database/statement-faults.ts';
import { KILLS, STATEMENT_FAULTS } from '../database/statement-faults.ts';
import type { SimNetwork } from '../network/sim-network.ts';
import type { Being } from '../world/being.ts';
import { NATURE } from '../world/being.ts';
import type { World } from '../world/world.ts';
import type { SimReplica } from './replica.ts';
import type { Facades } from './sim-facade.ts';
import type { Machine } from './sim-worker.ts';

interface NemesisOptions {
  world: World;
  gate: Gate;
  machines: readonly Machine[];
  network: SimNetwork;
  facades: Facades;
  replicas(): readonly SimReplica[];
  kill(replica: SimReplica, why: string): Promise<void>;
}

const WRITES = /\b(INSERT|UPDATE|DELETE)\b/;
/** Writes of jobs and what belongs to them, and the ends of transactions. */
const WRITES_JOBS = /^\s*commit|(INSERT INTO|UPDATE|DELETE FROM) (job|idempotency|webhook)/i;
/** Pause between two faults at moments, in milliseconds, usually and with `--kills`. */
const PAUSE_MS = { least: 40, most: 560 };
const RARE_PAUSE_MS = { least: 200, most: 3_000 };
/** Share of faults at random times that strike a facade. */
const FACADE_SHARE = 0.06;
/** Share of kills among the faults with `--kills`, at statements and at random times. */
const KILL_SHARE = 0.6;
/**
 * With `--kills`, a replica is killed after so many statements of any, at the next write of jobs, or at the next
 * statement of this share.
 */
const KILL_AFTER = { least: 1, most: 16, anyShare: 0.2 };
/** Time for which kills strike at one address only, in milliseconds: jobs can end at the other one meanwhile. */
const VICTIM_MS = { least: 1_000, most: 5_000 };
/** Letters of a statement that stand in the list of faults. */
const TEXT_MAX = 60;
/** How long a machine reaches no replica: for longer than its lease, or not. */
const PARTITION_MS = { least: 6_000, most: 18_000 };
const NOTICE_MS = { least: 0.2, usual: 4, late: 3_000 };

/**
 * When faults occur: at random times, never, at the steps of short jobs, or only so that no notification arrives and
 * all agents are at one replica, clients at the other.
 */
export type Phase = 'usual' | 'rest' | 'short' | 'deaf';

/** Least time between two faults at steps of short jobs, in milliseconds. */
const STEP_PAUSE_MS = 60;
/** A replica claims jobs by this statement. Share of these whose reply is late: jobs are cancelled meanwhile. */
const CLAIMS = /SET state = 'IN_PROGRESS', attempt = j\.attempt \+ 1/;
const CLAIM_SHARE = 0.1;
/** Share of statements at which a fault strikes while short jobs come. */
const STEP_SHARE = 0.1;
/** A replica takes calls of webhooks by this statement, and makes them afterwards. */
const TAKES_WEBHOOKS = /UPDATE webhook_delivery w SET due_at = now\(\)/;
/** Share of these after which it is killed, besides the usual faults. */
const WEBHOOK_SHARE = 0.08;
/** A replica writes the rows of early runs with their outcomes by this statement. */
const WRITES_EARLY_RUNS = /ended AS \(\s*INSERT INTO job/;
/**
 * Share of these statements that fail in addition to the usual faults, and share of failures at which machines with
 * unacknowledged outcomes are killed too, so that only the replica still has the outcome.
 */
const EARLY_SHARE = 0.4;
const EARLY_KILL_SHARE = 0.5;
const EARLY_FAULTS = [
  ...(['error 53100', 'error 53100', 'error 40001', 'answer lost'] as const),
  ...(['statement late', 'statement late'] as const),
] as const satisfies StatementFault[];

export class Nemesis {
  readonly #options: NemesisOptions;
  /** Share of statements at which a fault strikes. */
  readonly #share: number;
  readonly #kills: boolean;
  isOver = false;
  phase: Phase = 'usual';
  #struckAtMs = 0;
  /** Statements that pass until a replica is killed, with `--kills`. */
  #untilKill = 0;
  #victim = '';
  /** Until when a machine reaches no replica, in virtual milliseconds. */
  readonly #partitions = new Map<string, number>();
  #victimUntilMs = 0;

  /** `kills`: most faults are kills, and most writes are hit by one. */
  constructor(options: NemesisOptions, share: number, kills = false) {
    this.#options = options;
    this.#share = share;
    this.#kills = kills;
  }

  /** Begins with the faults at moments. */
  begin(): void {
    const { world } = this.#options;
    const { least, most } = this.#kills ? RARE_PAUSE_MS : PAUSE_MS;
    world.perform(world.between(least, most), NATURE, async () => {
      if (this.isOver) return;
      if (this.phase === 'usual' && world.strikes('at a moment')) await this.#strike();
      this.begin();
    });
  }

  /** Strikes at a job that this replica has just accepted: at the replica, its connections, or a machine. */
  strikeAt(replica: SimReplica): void {
    const { world, machines, gate, kill } = this.#options;
    if (this.phase !== 'short' || replica.dead || world.nowMs < this.#struckAtMs + STEP_PAUSE_MS) return;
    this.#struckAtMs = world.nowMs;
    if (!world.strikes(`at a step of a short job: ${replica.name}`)) return;
    const machine = world.one(machines);
    const u = world.fraction();
    if (u < 0.4) world.perform(0, NATURE, () => kill(replica, 'killed at a step of a short job'));
    else if (u < 0.55) this.#killAgent(machine);
    else if (u < 0.7) this.#cutLink(machine);
    else if (u < 0.8) this.#silenceLink(machine);
    else {
      const own = gate.connections.filter(({ owner }) => owner === replica);
      if (own.length === 0) return;
      world.fault('connection cut at a step of a short job', replica.name);
      world.perform(0, NATURE, () => gate.cut(world.one(own)));
    }
  }

  /** See GateOptions.chooseFault. */
  chooseFault(sql: string, runs: boolean, owner: Being): StatementFault | undefined {
    const { world } = this.#options;
    if (this.isOver || this.phase === 'rest' || this.phase === 'deaf') return undefined;
    const name = `${owner.name}, ${sql.trim().replace(/\s+/g, ' ').slice(0, TEXT_MAX)}`;
    const struck = (fault: StatementFault): StatementFault | undefined =>
      world.strikes(`${fault}: ${name}`) ? fault : undefined;
    if (this.#share > 0 && runs && TAKES_WEBHOOKS.test(sql) && world.chance(WEBHOOK_SHARE))
      return struck('killed after a commit');
    if (this.#share > 0 && !this.#kills && runs && CLAIMS.test(sql) && world.chance(CLAIM_SHARE))
      return struck('answer late');
    if (this.phase === 'short' && runs && WRITES_EARLY_RUNS.test(sql) && world.chance(EARLY_SHARE)) {
      const fault = struck(world.one(EARLY_FAULTS));
      if (!fault) return undefined;
      // Their facades submit again, and another replica may run the jobs before this statement comes.
      if (fault === 'statement late') world.after(0, NATURE, () => (owner as SimReplica).cutStreams());
      else world.after(0, NATURE, () => this.#killOwing());
      return fault;
    }
    if (this.#kills && runs && this.#isDue(sql, owner as SimReplica)) return struck(world.one(KILLS));
    if (!world.chance(this.phase === 'short' ? STEP_SHARE : this.#share)) return undefined;
    const fault = this.#isKill() ? world.one(KILLS) : world.one(STATEMENT_FAULTS);
    const needsWrite = fault === 'error 53100' || fault === 'error 25006' || fault === 'error 40P01';
    if (fault.startsWith('error ') && (sql === '' || (needsWrite && !WRITES.test(sql)))) return undefined;
    return struck(fault);
  }

  /** Returns whether a being is on a machine that reaches no replica. */
  isCutOff({ name }: Being): boolean {
    const untilMs = this.#partitions.get(name.split('.')[0]!) ?? 0;
    return !this.isOver && this.#options.world.nowMs < untilMs;
  }

  /** See GateOptions.noticeMs. */
  noticeMs(): number | undefined {
    const { world } = this.#options;
    const isDeaf = this.phase === 'deaf' && this.#share > 0;
    if (!this.isOver && (isDeaf || world.chance(0.05)) && world.strikes('notification dropped')) return undefined;
    if (this.isOver || !world.chance(0.05) || !world.strikes('notification late'))
      return world.between(NOTICE_MS.least, NOTICE_MS.usual);
    world.fault('notification late');
    return world.between(NOTICE_MS.usual, NOTICE_MS.late);
  }

  async #strike(): Promise<void> {
    const { world, machines, replicas, kill } = this.#options;
    if (world.chance(FACADE_SHARE)) return this.#strikeFacade();
    const machine = world.one(machines);
    const living = replicas();
    const u = world.fraction();
    if (u < 0.22 || this.#isKill()) this.#killAgent(machine);
    else if (u < 0.3) this.#cutLink(machine);
    else if (u < 0.36) this.#silenceLink(machine);
    else if (u < 0.58 && machine.lie) {
      const others = machines.filter((other) => other !== machine).flatMap(({ running }) => running);
      world.fault('agent lies', machine.id);
      machine.lie(others);
    } else if (u < 0.42 && machine.fillDisk) {
      world.fault('disk full', machine.id);
      machine.fillDisk();
    } else if (u < 0.44 && machine.startTwin) {
      world.fault('another agent with one identity', machine.id);
      machine.startTwin();
    } else if (u < 0.48 && machine.startTwin) {
      world.fault('machine partitioned', machine.id);
      this.#partitions.set(machine.id, world.nowMs + world.between(PARTITION_MS.least, PARTITION_MS.most));
      machine.silence();
    } else if (living.length > 0) {
      if (u < 0.74) await kill(world.one(living), 'killed at a moment');
      else if (u < 0.8) this.#hang(world.one(living));
      else if (u < 0.92) await this.#cutConnection();
      else if (u < 0.97) await this.#restart(0, 'all connections cut');
      else await this.#restart(world.between(200, 4_000), 'database down');
    }
  }

  #strikeFacade(): void {
    const { world, network, facades } = this.#options;
    if (facades.living.length === 0) return;
    const facade = world.one(facades.living);
    const connections = network.of(facade);
    const u = world.fraction();
    if (u < 0.5 || connections.length === 0) {
      world.fault('facade killed', facade.name);
      return facades.kill(facade);
    }
    const connection = world.one(connections);
    world.fault(u < 0.75 ? 'connection of a facade cut' : 'connection of a facade half-open', facade.name);
    if (u < 0.75) connection.cut();
    else connection.silence();
  }

  /** Returns whether a replica is to be killed at this statement. */
  #isDue(sql: string, { isUp, address }: SimReplica): boolean {
    const { world } = this.#options;
    if (world.nowMs >= this.#victimUntilMs) {
      this.#victimUntilMs = world.nowMs + world.between(VICTIM_MS.least, VICTIM_MS.most);
      this.#victim = address;
    }
    if (!isUp || address !== this.#victim) return false;
    this.#untilKill -= 1;
    if (this.#untilKill > 0 || !(WRITES_JOBS.test(sql) || world.chance(KILL_AFTER.anyShare))) return false;
    this.#untilKill = world.between(KILL_AFTER.least, KILL_AFTER.most);
    return true;
  }

  #isKill(): boolean {
    return this.#kills && this.#options.world.chance(KILL_SHARE);
  }

  #killOwing(): void {
    const { world, machines } = this.#options;
    for (const machine of machines)
      if (machine.owesOutcomes && world.chance(EARLY_KILL_SHARE)) this.#killAgent(machine);
  }

  #killAgent(machine: Machine): void {
    if (!machine.isUp) return;
    const losesDisk = this.#options.world.chance(0.3);
    this.#options.world.fault(losesDisk ? 'agent loses power and disk' : 'agent killed', machine.id);
    machine.die(losesDisk);
  }

  #cutLink(machine: Machine): void {
    if (machine.cut()) this.#options.world.fault('session cut', machine.id);
  }

  #silenceLink(machine: Machine): void {
    if (machine.silence()) this.#options.world.fault('session half-open', machine.id);
  }

  #hang(replica: SimReplica): void {
    const { world } = this.#options;
    world.fault('replica hangs', replica.name);
    replica.hangsUntilMs = world.nowMs + world.between(300, 14_000);
  }

  async #cutConnection(): Promise<void> {
    const { world, gate } = this.#options;
    const { connections } = gate;
    if (connections.length === 0) return;
    world.fault('connection cut');
    await gate.cut(world.one(connections));
  }

  async #restart(ms: number, why: string): Promise<void> {
    this.#options.world.fault(why);
    await this.#options.gate.restart(ms);
  }
}
