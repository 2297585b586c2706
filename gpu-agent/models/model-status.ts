/** States of the models of this machine, as it reports them to core. */
import type { CachedModel } from '@slipway/proto/gen/slipway/v1/machine';
import { CachedModelState, ModelFault } from '@slipway/proto/gen/slipway/v1/machine';
import type { ModelFailure } from './model-error.ts';
import { ModelError } from './model-error.ts';
import type { ModelKey } from './model-name.ts';
import type { ModelRecord } from './model-record.ts';
import { sizeOf } from './model-record.ts';

/** A download, from its beginning to its end. */
interface ModelRun {
  /** Records the bytes downloaded so far and in total. */
  progress(key: ModelKey, doneBytes: number, totalBytes: number): void;
  /** Ends it. `error`: why it failed; `undefined` if it did not fail. */
  end(error?: unknown): void;
}

/** A requested model. */
interface AskedModel {
  repository: string;
  revision: string;
  commit: string;
  accountNumber: number;
}

/** Most failures that are remembered. */
const FAILED_MAX = 100;
/** Most models of a report. */
const REPORTED_MAX = 200;
const ERROR_CHARS_MAX = 1_024;

const FAULTS: Record<ModelFailure, ModelFault> = {
  NOT_FOUND: ModelFault.NOT_FOUND,
  FORBIDDEN: ModelFault.FORBIDDEN,
  CORRUPT: ModelFault.CORRUPT,
  DISK_FULL: ModelFault.DISK_FULL,
  UNREACHABLE: ModelFault.UNREACHABLE,
};

export class ModelStatusTable {
  /** Called when a state changed, or only bytes. */
  onChanged: (what: 'state' | 'bytes') => void = () => undefined;
  readonly #running = new Set<CachedModel>();
  readonly #failed = new Map<string, CachedModel>();

  /** Begins a download. An earlier failure is forgotten. */
  begin({ repository, revision, commit, accountNumber }: AskedModel): ModelRun {
    const model: CachedModel = {
      repository,
      revision,
      commit,
      state: CachedModelState.DOWNLOADING,
      sizeBytes: 0,
      downloadedBytes: 0,
      fault: ModelFault.UNSPECIFIED,
      error: '',
      // Unless it turns out to be public, only its account may know of it.
      accountNumber,
    };
    this.#running.add(model);
    this.#failed.delete(keyOf(model));
    this.onChanged('state');
    return {
      progress: (key, doneBytes, totalBytes) => {
        const isNew = model.sizeBytes !== totalBytes || model.commit !== key.commit;
        Object.assign(model, { ...pick(key), sizeBytes: totalBytes, downloadedBytes: Math.min(doneBytes, totalBytes) });
        this.onChanged(isNew ? 'state' : 'bytes');
      },
      end: (error) => {
        this.#running.delete(model);
        if (error !== undefined) this.#fail(model, error);
        this.onChanged('state');
      },
    };
  }

  /** Returns the models of a report: downloading, complete and failed ones. */
  report(ready: readonly ModelRecord[]): CachedModel[] {
    const all = [
      ...[...this.#running].map((model) => ({ ...model })),
      ...ready.flatMap(reportsOf),
      ...this.#failed.values(),
    ];
    const first = new Map<string, CachedModel>();
    for (const model of all) if (!first.has(keyOf(model))) first.set(keyOf(model), model);
    return [...first.values()].slice(0, REPORTED_MAX);
  }

  #fail(model: CachedModel, error: unknown): void {
    const failed: CachedModel = {
      ...model,
      state: CachedModelState.FAILED,
      fault: error instanceof ModelError ? FAULTS[error.fault] : ModelFault.UNSPECIFIED,
      error: (error instanceof Error ? error.message : String(error)).slice(0, ERROR_CHARS_MAX),
    };
    this.#failed.delete(keyOf(failed));
    this.#failed.set(keyOf(failed), failed);
    const [oldest] = this.#failed.keys();
    if (this.#failed.size > FAILED_MAX) this.#failed.delete(oldest!);
  }
}

function pick({ commit, accountNumber }: ModelKey): Pick<CachedModel, 'commit' | 'accountNumber'> {
  return { commit, accountNumber };
}

function keyOf({ accountNumber, repository, revision }: CachedModel): string {
  return JSON.stringify([accountNumber, repository, revision]);
}

/** Returns a report for each revision under which a complete model was asked for. */
function reportsOf(record: ModelRecord): CachedModel[] {
  const { repository, commit, accountNumber, revisions, files } = record;
  const sizeBytes = sizeOf(files);
  const model = { repository, commit, accountNumber, sizeBytes, downloadedBytes: sizeBytes, error: '' };
  return (revisions.length > 0 ? revisions : [commit]).map((revision) => ({
    ...model,
    revision,
    state: CachedModelState.READY,
    fault: ModelFault.UNSPECIFIED,
  }));
}
