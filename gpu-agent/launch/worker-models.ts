/**
 * Gives a worker its models. An image finds each at its place in the hub's cache, read-only, while the cache itself
 * stays the image's own. A command of the host gets a separate cache with links to its models.
 */
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Mount } from '../executors/executor.ts';
import { PrepareError } from '../executors/executor.ts';
import type { HostViews } from '../executors/process/host-views.ts';
import { cacheFolder } from '../models/model-name.ts';
import type { ModelPuller } from '../models/model-puller.ts';
import type { ModelRecord } from '../models/model-record.ts';
import type { ModelStore } from '../models/model-store.ts';
import { dropFolder, giveFolder } from '../users/given-folder.ts';
import type { WorkerUser } from '../users/worker-users.ts';

/** The hub's cache in an image. */
const CACHE = '/runpod-volume/huggingface-cache/hub';

/** Dependencies. */
interface WorkerModelsParts {
  store: ModelStore;
  puller: ModelPuller;
  /** `undefined` where no commands run. */
  views: HostViews | undefined;
  /** Parent of the workers' scratch folders. */
  scratchFolder: string;
}

/** A worker that needs models. */
interface ModelsUse {
  workerId: string;
  endpointId: string;
  spec: WorkerSpec;
  by: 'process' | 'container';
  /** User that a command runs as; `undefined` for the agent's. */
  user: WorkerUser | undefined;
  progress(line: string): void;
  signal: AbortSignal;
}

/** The models of a worker. */
interface OpenModels {
  mounts: Mount[];
  /** The cache, for a command. */
  folder: string | undefined;
}

/** Of a worker that needs none. */
export const NO_MODELS: OpenModels = { mounts: [], folder: undefined };

export class WorkerModels {
  readonly #parts: WorkerModelsParts;

  constructor(parts: WorkerModelsParts) {
    this.#parts = parts;
  }

  /** Brings the models to this machine, and keeps them until `close`. Rejects with PrepareError, or on abort. */
  async open(use: ModelsUse): Promise<OpenModels> {
    await this.#parts.store.opened;
    const records: ModelRecord[] = [];
    for (const model of use.spec.models) records.push(await this.#bring(use, model));
    return use.by === 'container'
      ? { mounts: records.map((record) => this.#inImage(record)), folder: undefined }
      : this.#onHost(use, records);
  }

  /** Ends the use of models by a worker. */
  async close(workerId: string): Promise<void> {
    await dropFolder(this.#cacheOf(workerId));
    await this.#parts.store.unpin(workerId);
  }

  async #bring(use: ModelsUse, model: WorkerSpec['models'][number]): Promise<ModelRecord> {
    const { workerId, endpointId, spec, progress, signal } = use;
    const { store, puller } = this.#parts;
    const { address = '', token = '' } = spec.modelHub ?? {};
    const { version, accountNumber } = spec;
    for (;;) {
      const record = await puller.prepare(
        { ...model, hubAddress: address, hubToken: token, endpointId, version, accountNumber },
        progress,
        signal,
      );
      // It may have made room for another since.
      if (await store.use(workerId, record, model.revision)) return record;
    }
  }

  #inImage(record: ModelRecord): Mount {
    const { hubPath } = this.#parts.store.folderOf(record);
    return { source: hubPath, target: `${CACHE}/${cacheFolder(record.repository)}`, readOnly: true };
  }

  /** Makes a cache with a link for each model. It is the user's own: programs also write into their cache. */
  async #onHost({ workerId, user }: ModelsUse, records: readonly ModelRecord[]): Promise<OpenModels> {
    const { store } = this.#parts;
    const folder = this.#cacheOf(workerId);
    await dropFolder(folder);
    await mkdir(folder, { recursive: true });
    const mounts: Mount[] = [];
    for (const record of records) {
      const source = store.folderOf(record).path;
      const target = await this.#shownAt(source, user);
      if (target !== source) mounts.push({ source, target, readOnly: true });
      await symlink(join(target, cacheFolder(record.repository)), join(folder, cacheFolder(record.repository)));
    }
    await giveFolder(folder, user);
    return { mounts, folder };
  }

  /** Returns where a user finds the model's folder: only the agent reaches the store itself. */
  async #shownAt(source: string, user: WorkerUser | undefined): Promise<string> {
    if (!user) return source;
    const { views } = this.#parts;
    if (views && (await views.isAble())) return views.pathOf(source, user);
    throw new PrepareError(
      'REFUSED',
      'this machine cannot give models to commands, because its agent may not mount (it needs CAP_SYS_ADMIN and ' +
        '/run): use an image, or another machine',
    );
  }

  #cacheOf(workerId: string): string {
    return join(this.#parts.scratchFolder, `${workerId}.models`);
  }
}
