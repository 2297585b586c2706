/**
 * The whole edge: renders and validates the configuration, runs Envoy, renews certificates, and lets a successor in the
 * same folder take over.
 */
import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { Service } from '@slipway/kit/lifecycle/service';
import { SingleRunService } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Transport } from '@slipway/kit/net/channel';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { listenerAddresses } from './admin.ts';
import { CertificateWatch } from './certificate-watch.ts';
import type { EdgeConfig } from './config.ts';
import { authorizerSocket, coreAddresses } from './config.ts';
import { CoreAuthorityWatch } from './core-authorities.ts';
import { EdgeFault } from './edge-fault.ts';
import {
  checkFiles,
  readRunning,
  writeAuthority,
  writeCertificate,
  writeEdgeFiles,
  writeRunning,
} from './edge-files.ts';
import { REQUEST_SILENCE_MS } from './envoy-config/limits.ts';
import { EnvoyProcess, findFault } from './envoy-process.ts';
import { findEnvoy } from './find-envoy.ts';
import { hostPortText } from './message.ts';

/** Length of the id that distinguishes one Envoy from others. */
const INSTANCE_LENGTH = 22;

/** Dependencies of the edge. */
interface EdgeDeps {
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Loads what reaches core and facades. */
  transport(): Promise<Transport>;
  /** Relieves the edge that serves with the same folder, if there is one. */
  takeOver: boolean;
  /** Called if Envoy ended without being stopped. `relieved`: a successor serves in its place. */
  onEnded(how: string, relieved: boolean): void;
}

export class Edge extends SingleRunService {
  readonly name = 'edge';
  readonly #config: EdgeConfig;
  readonly #deps: EdgeDeps;
  readonly #atOnce = new AbortController();
  #envoy: EnvoyProcess | undefined;
  #authorizer: Service | undefined;
  #watch: CertificateWatch | undefined;
  readonly #trust: CoreAuthorityWatch;
  #stopping = false;
  /** Addresses by listener, as host:port. Set once it serves. */
  addresses: Readonly<Record<string, string>> = {};

  constructor(config: EdgeConfig, deps: EdgeDeps) {
    super();
    this.#config = config;
    this.#deps = deps;
    this.#trust = new CoreAuthorityWatch({ config, ...deps });
  }

  /** Handles a second request to stop: no longer waits for requests to end. */
  hurry(): void {
    this.#atOnce.abort();
  }

  protected override async onStart(): Promise<void> {
    const config = this.#config;
    const { clock, logger, takeOver } = this.#deps;
    const found = await findEnvoy(config.envoy, config.searchPath);
    checkFiles(config);
    const relieved = readRunning(config.dataDir);
    if (relieved && !takeOver) {
      throw new EdgeFault(
        `An edge serves with the folder ${config.dataDir} already (process ${relieved.pid}). ` +
          '--take-over relieves it without a failed request; another edge beside it needs another --data-dir.',
      );
    }
    const epoch = relieved ? relieved.epoch + 1 : 0;
    await this.#trust.prepare();
    const file = writeEdgeFiles(config, epoch, instanceOf(config, epoch));
    const fault = await findFault(found.file, file);
    if (fault !== undefined)
      throw new EdgeFault(`Envoy ${found.version} refuses the configuration in ${file}:\n${fault}`);
    await this.#startAuthorizer(epoch);
    const envoy = new EnvoyProcess(found.file, file, { config, relieved, clock, logger });
    this.#envoy = envoy;
    try {
      const running = await envoy.ready();
      writeRunning(config.dataDir, running);
      this.addresses = await listenerAddresses(envoy.admin);
      void envoy.ended.then((how) => this.#ended(how, running.pid));
    } catch (error) {
      // It would run on without an edge, and take connections from the next one.
      await envoy.end();
      throw error;
    }
    this.#startWatch();
    if (config.coreTls) await this.#trust.start();
    logger.info({ ...this.addresses, envoy: found.version, relieved: relieved?.pid }, 'edge is listening');
  }

  protected override async onStop(): Promise<void> {
    this.#stopping = true;
    await this.#watch?.stop();
    await this.#trust.stop();
    if (this.#envoy) {
      this.#deps.logger.info('edge is draining: no new connections, waiting for requests to end');
      await this.#envoy.drain(this.#atOnce.signal);
    }
    await this.#authorizer?.stop();
  }

  /** Starts the authorizer. It is needed only with the edges' key, and only then its packages are loaded. */
  async #startAuthorizer(epoch: number): Promise<void> {
    const { edgeKey, dataDir, coreTls, facades } = this.#config;
    if (edgeKey === '') return;
    const { EdgeAuthorizer } = await import('@slipway/facades/edge-authorizer');
    const { clock, random, logger } = this.#deps;
    const transport = await this.#deps.transport();
    const { TlsSource } = await import('@slipway/kit/net/tls-source');
    const tls = coreTls && new TlsSource(coreTls);
    const reached = { cores: coreAddresses(this.#config), tls, facades: facades.map(hostPortText) };
    const socketFile = authorizerSocket(dataDir, epoch);
    this.#authorizer = new EdgeAuthorizer({
      ...reached,
      socketFile,
      edgeKey,
      silenceMs: REQUEST_SILENCE_MS,
      transport,
      clock,
      random,
      logger,
    });
    await this.#authorizer.start();
  }

  #ended(how: string, pid: number): void {
    if (this.#stopping) return;
    const running = readRunning(this.#config.dataDir);
    this.#deps.onEnded(how, running !== undefined && running.pid !== pid);
  }

  #startWatch(): void {
    const { certificate, agentClients } = this.#config;
    if (!certificate) return;
    const { clock, logger } = this.#deps;
    let version = 0;
    this.#watch = new CertificateWatch(
      { certificate, agentClients },
      {
        clock,
        logger,
        onCertificate: ({ validTo }) => {
          writeCertificate(this.#config, (version += 1));
          logger.info({ validTo }, 'new certificate is in use');
        },
        onAuthority: () => {
          writeAuthority(this.#config, (version += 1));
          logger.info('new authority of agents is in use');
        },
      },
    );
    void this.#watch.start();
  }
}

/**
 * Returns the id of the Envoy of an epoch that serves with a folder of this machine. It stays the same after a restart,
 * so that core does not count the previous Envoy's reports a second time.
 */
function instanceOf({ dataDir, listen, name }: EdgeConfig, epoch: number): string {
  return createHash('sha256')
    .update(JSON.stringify([hostname(), name, resolve(dataDir), listen, epoch]))
    .digest('base64url')
    .slice(0, INSTANCE_LENGTH);
}
