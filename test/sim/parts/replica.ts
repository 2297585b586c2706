/**
 * A replica of core in the simulation: all parts between its database and its rpc handlers, as core itself builds and
 * starts them. A killed one is never woken again.
 */
import { buildParts } from '@slipway/core/build-parts';
import { readCoreConfig } from '@slipway/core/config';
import { Session } from '@slipway/core/dispatch/session/session';
import type { SessionStream } from '@slipway/core/dispatch/session/session-context';
import { CoreCertificates } from '@slipway/core/joining/core-certificates';
import { openStorage } from '@slipway/core/store/storage';
import { Sealer } from '@slipway/kit/host/seal';
import { ActivityMonitor } from '@slipway/kit/lifecycle/activity';
import { startAll } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import { systemTransport } from '@slipway/kit/net/channel';
import { Stability } from '@slipway/kit/time/stability';
import type { Being } from '../world/being.ts';
import type { World } from '../world/world.ts';

const SECRET_KEY = 'ab'.repeat(32);
const SEALER = new Sealer(SECRET_KEY);

export class SimReplica implements Being {
  readonly name: string;
  dead = false;
  hangsUntilMs = 0;
  readonly clockErrorMs: number;
  /** All of its services run. */
  isUp = false;
  readonly #parts: ReturnType<typeof buildParts>;
  readonly #onDeath: (() => void)[] = [];

  constructor(name: string, host: string, world: World, logger: Logger) {
    this.name = name;
    this.clockErrorMs = world.between(-2_000, 2_000);
    const clock = world.clockOf(this);
    const config = readCoreConfig({
      SLIPWAY_DATABASE_URL: `postgres://slipway@${host}:1/sim`,
      SLIPWAY_SECRET_KEY: SECRET_KEY,
      SLIPWAY_WEBHOOK_ALLOW_PRIVATE: 'true',
    });
    const activity = new ActivityMonitor(clock);
    const dependencies = { clock, random: world.random, transport: systemTransport, logger, activity };
    const storage = openStorage(config.databaseUrl, SEALER, logger, {
      ...{ connectionsMax: 2, hotConnectionsMax: 2 },
      random: world.random,
    });
    const stability = new Stability(clock);
    const { authorities } = storage.stores;
    this.#parts = buildParts(
      {
        ...storage,
        openChannel: (options) => storage.openChannel({ ...options, onCheck: (answers) => stability.record(answers) }),
      },
      SEALER,
      config,
      dependencies,
      {
        replicaAddress: () => name,
        secureAddresses: () => [],
        certificates: new CoreCertificates({ config, authorities, ...dependencies }),
        linksStableMs: () => stability.forMs,
      },
    );
    const { table, loop, scaling, reports, pods, containers, models, desired, audit } = this.#parts.dispatch;
    const services = [
      ...this.#parts.engine.services,
      this.#parts.batches.runner,
      ...[reports, pods, containers, models, desired, audit, scaling, table, loop],
    ];
    startAll(services, logger).then(
      () => {
        this.isUp = true;
        world.note(name, 'is up');
      },
      (error: Error) => {
        world.note(name, 'did not start:', error.message);
      },
    );
  }

  /** Calls `listener` when this replica dies. */
  onDeath(listener: () => void): void {
    this.#onDeath.push(listener);
  }

  /** Dies: nothing of it runs any more, and its callers notice. */
  die(): void {
    this.dead = true;
    for (const listener of this.#onDeath.splice(0)) listener();
  }

  /** Calls of its clients. */
  get calls() {
    return this.#parts.engine.calls;
  }

  /** Opens a session for an agent. */
  openSession(stream: SessionStream): Session {
    const key = { check: async () => undefined, bind: async () => undefined };
    return new Session(stream, key, this.#parts.dispatch.sessions);
  }
}
