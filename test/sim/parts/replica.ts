/**
 * A replica of core in the simulation: all its parts and its rpc server, as core itself builds and starts them. A
 * killed one is never woken again.
 */
import { buildParts } from '@slipway/core/build-parts';
import { buildServer } from '@slipway/core/build-server';
import { readCoreConfig } from '@slipway/core/config';
import { Session } from '@slipway/core/dispatch/session/session';
import type { SessionStream } from '@slipway/core/dispatch/session/session-context';
import { CoreCertificates } from '@slipway/core/joining/core-certificates';
import { Health } from '@slipway/core/rpc/server/health';
import { openStorage } from '@slipway/core/store/storage';
import { Sealer } from '@slipway/kit/host/seal';
import { ActivityMonitor } from '@slipway/kit/lifecycle/activity';
import { startAll } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import { Stability } from '@slipway/kit/time/stability';
import type { SimNetwork } from '../network/sim-network.ts';
import type { Being } from '../world/being.ts';
import type { World } from '../world/world.ts';

const SECRET_KEY = 'ab'.repeat(32);
/** The operator's key. */
export const ROOT_KEY = 'operator-of-the-simulation';
const SEALER = new Sealer(SECRET_KEY);

export class SimReplica implements Being {
  readonly name: string;
  readonly address: string;
  dead = false;
  hangsUntilMs = 0;
  readonly clockErrorMs: number;
  /** All of its services run. */
  isUp = false;
  readonly #parts: ReturnType<typeof buildParts>;
  readonly #onDeath: (() => void)[] = [];
  readonly #onCut: (() => void)[] = [];

  /** `host`: its database; `address`: where it listens. */
  constructor(
    { name, host, address }: { name: string; host: string; address: string },
    { world, network, logger }: { world: World; network: SimNetwork; logger: Logger },
  ) {
    this.name = name;
    this.address = address;
    this.clockErrorMs = world.between(-2_000, 2_000);
    const clock = world.clockOf(this);
    const config = readCoreConfig({
      SLIPWAY_DATABASE_URL: `postgres://slipway@${host}:1/sim`,
      SLIPWAY_SECRET_KEY: SECRET_KEY,
      SLIPWAY_ROOT_KEY: ROOT_KEY,
      SLIPWAY_CORE_LISTEN: address,
      SLIPWAY_WEBHOOK_ALLOW_PRIVATE: 'true',
    });
    const activity = new ActivityMonitor(clock);
    const dependencies = { clock, random: world.random, transport: network.transportOf(this), logger, activity };
    const storage = openStorage(config.databaseUrl, SEALER, logger, {
      ...{ connectionsMax: 2, hotConnectionsMax: 2 },
      random: world.random,
    });
    const stability = new Stability(clock);
    const health = new Health({ ...storage, ...dependencies });
    const onCheck = (answers: boolean): void => {
      health.reportDatabase(answers);
      stability.record(answers);
    };
    const { authorities } = storage.stores;
    const parts = buildParts(
      { ...storage, openChannel: (options) => storage.openChannel({ ...options, onCheck }) },
      SEALER,
      config,
      dependencies,
      {
        replicaAddress: () => address,
        secureAddresses: () => [],
        certificates: new CoreCertificates({ config, authorities, ...dependencies }),
        linksStableMs: () => stability.forMs,
      },
    );
    this.#parts = parts;
    const { server, jobCalls, edgeStreams, envoyStreams, refusals } = buildServer(parts, health, config, dependencies);
    const { table, loop, scaling, reports, pods, containers, models, desired, audit } = parts.dispatch;
    const listens = { name: 'stability', start: async () => stability.listens(), stop: async () => undefined };
    // As in core/app.ts, without certificates, metrics and the watch over a file.
    const services = [
      ...[...parts.engine.services, parts.batches.runner, parts.alerts],
      ...[reports, pods, containers, models, desired, audit, scaling, ...parts.edge.services, table, loop],
      ...[refusals, server, listens, parts.registry, jobCalls, edgeStreams, envoyStreams, health],
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

  /** Calls `listener` when the streams of facades break, or it dies. */
  onCut(listener: () => void): void {
    this.#onCut.push(listener);
  }

  /** Breaks the streams of facades. What they have sent goes on. */
  cutStreams(): void {
    for (const listener of this.#onCut.splice(0)) listener();
  }

  /** Dies: nothing of it runs any more, and its callers notice. */
  die(): void {
    this.dead = true;
    for (const listener of this.#onDeath.splice(0)) listener();
    this.cutStreams();
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
