/** Models of this machine: their store, downloads, what other machines copy, and the reports to core. */
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type {
  MachineModels,
  SettleModelRequest,
  SettleModelResponse,
} from '@slipway/proto/gen/slipway/v1/agent_service';
import type { AgentConfig } from './config.ts';
import type { PoolSettings } from './identity/pool-settings.ts';
import type { ModelMeter } from './models/model-metrics.ts';
import { ModelPuller } from './models/model-puller.ts';
import { ModelStatusTable } from './models/model-status.ts';
import { ModelStore } from './models/model-store.ts';
import { ModelPeerServer } from './models/peer-server.ts';

/** Dependencies. */
interface ModelHostOptions extends ModelMeter {
  config: AgentConfig;
  /** Limit of the disk that models use. It may change. */
  settings: Pick<PoolSettings, 'modelDiskGb'>;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Resolves a commit with core, and names machines that have it. */
  settle(request: SettleModelRequest): Promise<SettleModelResponse>;
  /** Returns the workers that run or will. */
  workerIds(): ReadonlySet<string>;
  /** Called when there is something to report. */
  onChanged(): void;
}

/** Interval between checks of the folder, in milliseconds: models that were imported are found. */
const CHECK_PERIOD_MS = 10_000;
/** Shortest time between two reports that differ in bytes alone, in milliseconds (SessionRequest.models). */
const BYTES_PERIOD_MS = 2_000;
/** Silence after which a connection to the hub is given up, in milliseconds. */
const SILENCE_MS = 30_000;
/** Files of one model at once. */
const FILES_AT_ONCE = 4;
const PAUSE = { firstMs: 1_000, maxMs: 30_000 };
const TRIES_MAX = 6;
const GB = 1000 ** 3;
const MB = 1000 ** 2;

export class ModelHost extends LoopService {
  readonly store: ModelStore;
  readonly puller: ModelPuller;
  readonly #options: ModelHostOptions;
  readonly #status = new ModelStatusTable();
  readonly #peers: ModelPeerServer;
  #reportsBytes = false;

  constructor(options: ModelHostOptions) {
    const { config, clock, random, logger, settle, onModel, onModelBytes } = options;
    super({ name: 'models', periodMs: CHECK_PERIOD_MS, clock, random, logger });
    this.#options = options;
    const { modelDir, modelPeerListen, modelPeerMbPerSecond, advertiseHost } = config;
    const limitBytes = (): number | undefined => {
      const { modelDiskGb } = options.settings;
      return modelDiskGb === undefined ? undefined : modelDiskGb * GB;
    };
    const store = new ModelStore({ path: modelDir, limitBytes, clock, random });
    this.store = store;
    this.puller = new ModelPuller({
      store,
      status: this.#status,
      settle,
      onModel,
      onModelBytes,
      silenceMs: SILENCE_MS,
      filesAtOnce: FILES_AT_ONCE,
      pause: PAUSE,
      triesMax: TRIES_MAX,
      logger,
      clock,
      random,
    });
    this.#peers = new ModelPeerServer({
      listen: modelPeerListen,
      advertiseHost,
      bytesPerSecond: modelPeerMbPerSecond * MB,
      store,
      clock,
      logger,
    });
    this.#status.onChanged = (what) => (what === 'state' ? options.onChanged() : this.#bytesChanged());
  }

  /** Returns all models of the machine. */
  report(): MachineModels {
    const { limitBytes, usedBytes } = this.store;
    return {
      models: this.#status.report(this.store.ready()),
      limitBytes,
      usedBytes,
      peerAddress: this.#peers.address,
    };
  }

  /** Sets the key with which core signs tokens for this machine. */
  setPeerKey(key: Uint8Array): void {
    this.#peers.setKey(key);
  }

  protected override async onStart(): Promise<void> {
    const { logger, workerIds, onChanged, config } = this.#options;
    await this.store.open().catch((error: unknown) => {
      // Endpoints without models must run all the same.
      logger.error(
        { err: error, folder: config.modelDir },
        'the folder of models cannot be used: this machine takes none',
      );
    });
    await this.store.keepPins(workerIds());
    await this.#peers.start();
    onChanged();
    await super.onStart();
  }

  protected override async onStop(): Promise<void> {
    await super.onStop();
    await this.#peers.stop();
  }

  protected override async pass(): Promise<void> {
    if (this.store.limitBytes === 0) return;
    const [isNew, isLess] = [await this.store.scan(), await this.store.shrink()];
    if (isLess) this.#options.logger.info('models were removed to stay within their disk');
    if (isNew || isLess) this.#options.onChanged();
  }

  /** Reports changed bytes, now and then. */
  #bytesChanged(): void {
    if (this.#reportsBytes) return;
    this.#reportsBytes = true;
    this.#options.clock.after(BYTES_PERIOD_MS, () => {
      this.#reportsBytes = false;
      this.#options.onChanged();
    });
  }
}
