/**
 * Finds the new primary after a failover whose old primary fell silent: it answers nothing and closes nothing, so that
 * the statements of all connections hang. While they do, each host of the URL is asked over a connection of its own.
 * The primary with the newest timeline counts: connections to other hosts are cut, and new ones go to it. The old one
 * is used again once it is a standby. A host that merely works on long statements is left alone.
 */
import type { Socket } from 'node:net';
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import type { OpenConnection } from './database.ts';
import { connect, cutAll, openConnections } from './database.ts';
import type { DatabaseHost, DatabaseHosts } from './database-hosts.ts';
import type { PasswordReader } from './database-password.ts';
import { ServerAnswers } from './server-answers.ts';

const PERIOD_MS = 500;
/** Passes in a row with a silent connection after which the hosts are asked. */
const SILENT_PASSES = 3;
/** Passes in a row with a silent connection after which they are asked less often: a statement may take minutes. */
const EAGER_PASSES = 60;
/** Passes between two looks: while a connection is silent or one host is preferred, and otherwise. */
const LOOK_PASSES = { unsettled: 10, usual: 60 };
/** Longest wait for a host, in milliseconds. */
const PROBE_MS_MAX = 1_000;
const PROBE_NAME = 'slipway-core-probe';

interface PrimaryWatchOptions {
  hosts: DatabaseHosts;
  /** Connections whose statements may hang. */
  connections(): readonly OpenConnection[];
  answers: Pick<ServerAnswers, 'listen'>;
  /** Returns the password for a new connection. Default: that of the URL. */
  password?: PasswordReader | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Returns whether a statement waits for its answer, or for a login. */
function hangs({ socket, waits }: OpenConnection): boolean {
  return waits() || socket.bytesRead === 0;
}

/** Answer of a host. */
interface HostState {
  host: DatabaseHost;
  /** Timeline of a primary. `standby`, or `silent` if it did not answer in time. */
  role: number | 'standby' | 'silent';
}

export class PrimaryWatch extends LoopService {
  readonly #options: PrimaryWatchOptions;
  #isHeard: () => boolean;
  /** Connections that waited at the last pass, with the bytes that they had received. */
  #hanging = new Map<Socket, number>();
  #silentPasses = 0;
  #passes = 0;
  /** Newest timeline of a primary so far. 0: not known yet. */
  #timeline = 0;
  #preferred: DatabaseHost | undefined;
  /** Timeline of the preferred host when it was chosen. */
  #preferredTimeline = 0;
  #isOlderReported = false;
  /** Questions that are not answered yet. */
  readonly #asked = new Map<DatabaseHost, Promise<void>>();
  /** Last answers. */
  readonly #roles = new Map<DatabaseHost, HostState['role']>();

  constructor(options: PrimaryWatchOptions) {
    super({ ...options, name: 'primary-watch', periodMs: PERIOD_MS });
    this.#options = options;
    this.#isHeard = options.answers.listen();
  }

  protected override async pass(): Promise<void> {
    this.#silentPasses = this.#isSilent() ? this.#silentPasses + 1 : 0;
    this.#passes += 1;
    const isKnown = this.#timeline > 0;
    const isRare = isKnown && !this.#preferred && this.#silentPasses === 0;
    const isTurn = this.#passes % (isRare ? LOOK_PASSES.usual : LOOK_PASSES.unsettled) === 0;
    const isNew = this.#silentPasses >= SILENT_PASSES && this.#silentPasses <= EAGER_PASSES;
    // A server may never say its timeline, for instance a managed one that lacks the functions.
    if ((!isKnown && this.#passes <= EAGER_PASSES) || isNew || isTurn) this.#look();
  }

  /**
   * Returns whether a connection has waited since the last pass and received nothing. With one host in the URL: and no
   * other connection has received anything. With several, a standby may have refused a login meanwhile.
   */
  #isSilent(): boolean {
    const { answers, connections, hosts } = this.#options;
    const before = this.#hanging;
    this.#hanging = new Map(connections().flatMap((one) => (hangs(one) ? [[one.socket, one.socket.bytesRead]] : [])));
    const isHeard = this.#isHeard();
    this.#isHeard = answers.listen();
    if (isHeard && hosts.all.length === 1) return false;
    return [...this.#hanging].some(([socket, bytes]) => before.get(socket) === bytes);
  }

  protected override async onStop(): Promise<void> {
    await super.onStop();
    await Promise.all(this.#asked.values());
  }

  /** Asks all hosts but those that were asked before and have not answered yet. */
  #look(): void {
    for (const host of this.#options.hosts.all) {
      if (this.#asked.has(host)) continue;
      // Rejects if no URL can name the host. The driver skips such a host.
      const asked = this.#ask(host)
        .catch((): 'silent' => 'silent')
        .then((role) => {
          this.#asked.delete(host);
          this.#roles.set(host, role);
          this.#follow({ host, role });
          this.#reportOlder({ host, role });
          this.#forgive();
        });
      this.#asked.set(host, asked);
    }
  }

  /** Uses all hosts again once the others are standbys: an old primary that wakes up must not be used before. */
  #forgive(): void {
    const preferred = this.#preferred;
    const { hosts } = this.#options;
    if (!preferred) return;
    const others = hosts.all.filter((host) => host !== preferred);
    const isOver =
      this.#roles.get(preferred) === 'standby' || others.every((host) => this.#roles.get(host) === 'standby');
    if (!isOver) return;
    this.#preferred = undefined;
    hosts.prefer(undefined);
  }

  /** Records the timeline of the primary. Leaves silent hosts for it, and a preferred one that is gone. */
  #follow({ host, role }: HostState): void {
    if (typeof role === 'string' || role < this.#timeline) return;
    const { hosts } = this.#options;
    const isNewer = role > this.#timeline;
    const isSilent = this.#silentPasses >= SILENT_PASSES;
    const isSuccessor = this.#isSuccessor(host, role);
    // News at the beginning of a silence must still be news when it has lasted.
    if (!isSuccessor && !isSilent && this.#silentPasses > 0) return;
    this.#timeline = role;
    const left = hosts.clients.flatMap(openConnections).filter(({ socket }) => hosts.isElsewhere(socket, host));
    const isSilentLeft = isSilent && left.length > 0 && (hosts.all.length > 1 || isNewer);
    if (isSuccessor || isSilentLeft) this.#leave(left, host, role);
  }

  /**
   * Returns whether a primary has replaced the preferred host. A preferred host that refuses connections is never
   * silent: nothing waits for it.
   */
  #isSuccessor(host: DatabaseHost, timeline: number): boolean {
    const preferred = this.#preferred;
    if (!preferred || host === preferred) return false;
    return timeline > this.#preferredTimeline && this.#roles.get(preferred) === 'silent';
  }

  #leave(left: readonly OpenConnection[], host: DatabaseHost, timeline: number): void {
    const { hosts, logger } = this.#options;
    this.#preferred = host;
    this.#preferredTimeline = timeline;
    this.#isOlderReported = false;
    hosts.prefer(host);
    for (const { socket } of left) socket.destroy();
    logger.warn(
      { host: `${host.name}:${host.port}`, timeline, connections: left.length },
      'another primary has taken over; connections to the silent one are closed',
    );
  }

  /**
   * Logs once that the preferred host is silent and an older primary answers. Core must never return to it by itself:
   * the preferred host may only be cut off from here, and have commits that the older primary lacks.
   */
  #reportOlder({ host, role }: HostState): void {
    const preferred = this.#preferred;
    if (typeof role === 'string' || !preferred || host === preferred || this.#isOlderReported) return;
    if (role > this.#preferredTimeline || this.#roles.get(preferred) !== 'silent') return;
    this.#isOlderReported = true;
    this.#options.logger.error(
      {
        host: `${host.name}:${host.port}`,
        timeline: role,
        silent: `${preferred.name}:${preferred.port}`,
        silentTimeline: this.#preferredTimeline,
      },
      'the primary is silent, and another host is a primary that is not newer: restart core if that one must be used',
    );
  }

  async #ask(host: DatabaseHost): Promise<HostState['role']> {
    const { password, clock, logger } = this.#options;
    const answers = new ServerAnswers({ databaseAnswerMs: PROBE_MS_MAX });
    const sql = connect(host.url, PROBE_NAME, 1, logger, {}, { answers, password });
    const over = new AbortController();
    try {
      const asked = sql<{ timeline: number | null }[]>`
        SELECT CASE WHEN NOT pg_is_in_recovery()
          THEN ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int END AS timeline`;
      const row = await Promise.race([
        asked.then(([first]) => first),
        delay(clock, PROBE_MS_MAX, over.signal).then(() => undefined),
      ]);
      return row ? (row.timeline ?? 'standby') : 'silent';
    } catch {
      return 'silent';
    } finally {
      over.abort();
      cutAll(sql);
      void sql.end({ timeout: 0 });
    }
  }
}
