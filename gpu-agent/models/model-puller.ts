/**
 * Ensures that models are on this machine: finds the commit that a revision means, and downloads each model once,
 * however many workers wait for it. Public models are downloaded without a token and shared by all accounts; others
 * belong to the account whose token it took.
 */
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import type { SettleModelRequest, SettleModelResponse } from '@slipway/proto/gen/slipway/v1/agent_service';
import { HubClient } from './hub-client.ts';
import { mayNeedToken } from './hub-error.ts';
import { hubFailure } from './hub-failure.ts';
import { ModelError } from './model-error.ts';
import type { ModelMeter } from './model-metrics.ts';
import type { ModelKey } from './model-name.ts';
import { isCommit, isRepository, isRevision, treeName } from './model-name.ts';
import { ModelPull } from './model-pull.ts';
import type { ModelFile, ModelRecord } from './model-record.ts';
import { filesFault } from './model-record.ts';
import type { ModelStatusTable } from './model-status.ts';
import type { ModelStore } from './model-store.ts';
import { PeerClient } from './peer-client.ts';
import type { RetryRule } from './retry-hub.ts';
import { retryHub } from './retry-hub.ts';
import { SharedWork } from './shared-work.ts';

/** A model that a worker needs. */
export interface WantedModel {
  /** `org/name`. */
  repository: string;
  /** Branch, tag or commit. */
  revision: string;
  /** Commit that it means for this version; empty if it is not resolved. */
  commit: string;
  /** Base address of the hub. */
  hubAddress: string;
  /** Token for gated and private repositories. Empty: none. */
  hubToken: string;
  endpointId: string;
  version: number;
  accountNumber: number;
}

/** Settings and dependencies. */
interface ModelPullerOptions extends RetryRule, Partial<ModelMeter> {
  store: ModelStore;
  status: ModelStatusTable;
  clock: Clock;
  logger: Logger;
  /** Resolves a commit with core, and names machines that have it. */
  settle(request: SettleModelRequest): Promise<SettleModelResponse>;
  /** Milliseconds without a byte after which a connection to the hub is given up. */
  silenceMs: number;
  /** Files of one model at once. */
  filesAtOnce: number;
}

/** Facts about a model that are known before its download. */
interface Described {
  commit: string;
  /** Account whose token it takes. 0: none. */
  accountNumber: number;
  files: readonly ModelFile[];
}

/** Tries of a description: few, because the model may be here or on another machine. */
const DESCRIBE_TRIES_MAX = 3;

export class ModelPuller {
  readonly #options: ModelPullerOptions;
  readonly #requests = new SharedWork<ModelRecord>();
  readonly #pulls = new SharedWork<ModelRecord>();

  constructor(options: ModelPullerOptions) {
    this.#options = options;
  }

  /** Resolves with the model once it is complete. Rejects with ModelError, or the reason of `signal`. */
  async prepare(wanted: WantedModel, progress: (text: string) => void, signal: AbortSignal): Promise<ModelRecord> {
    const { repository, revision, commit } = wanted;
    if (!isRepository(repository) || !isRevision(revision) || (commit !== '' && !isCommit(commit)))
      throw new ModelError(
        'NOT_FOUND',
        `${repository}:${revision} cannot be the name of a model: write it like org/name:main`,
      );
    const local = commit === '' ? undefined : this.#local(wanted, commit);
    if (local) return local;
    return this.#requests.join(
      JSON.stringify(wanted),
      (report, signal) => this.#follow(wanted, report, signal),
      progress,
      signal,
    );
  }

  /** Brings a model, and keeps its state for the reports of the machine. */
  async #follow(wanted: WantedModel, report: (text: string) => void, signal: AbortSignal): Promise<ModelRecord> {
    const { status, logger, clock, onModel } = this.#options;
    const startedAtMs = clock.monotonicMs();
    const { endpointId, repository, revision } = wanted;
    const run = status.begin(wanted);
    try {
      const record = await this.#bring(wanted, report, signal, (key, done, total) => run.progress(key, done, total));
      run.end();
      onModel?.('downloaded', clock.monotonicMs() - startedAtMs);
      const { commit, accountNumber } = record;
      logger.info({ endpointId, repository, revision, commit, accountNumber }, 'model is ready');
      return record;
    } catch (error) {
      const reason = (error as Error).message;
      if (!signal.aborted) logger.warn({ endpointId, repository, revision, reason }, 'model could not be downloaded');
      run.end(signal.aborted ? undefined : error);
      onModel?.(signal.aborted ? 'abandoned' : 'failed', clock.monotonicMs() - startedAtMs);
      throw error;
    }
  }

  async #bring(
    wanted: WantedModel,
    report: (text: string) => void,
    signal: AbortSignal,
    onBytes: (key: ModelKey, doneBytes: number, totalBytes: number) => void,
  ): Promise<ModelRecord> {
    const { repository, revision, endpointId, version } = wanted;
    report(`asking for the files of ${repository}`);
    let [described, failure]: [Described | undefined, unknown] = [undefined, undefined];
    if (wanted.commit === '')
      [described, failure] = await this.#describe(wanted, revision, report, signal).then(
        (found) => [found, undefined],
        (error: unknown) => [undefined, error],
      );
    signal.throwIfAborted();
    const commit = wanted.commit || described?.commit || this.#localCommit(wanted);
    const settled = await this.#options.settle({ endpointId, version, repository, revision, commit });
    signal.throwIfAborted();
    if (settled.commit === '')
      throw failure ?? new ModelError('UNREACHABLE', `no source has ${repository}:${revision}`);
    const local = this.#local(wanted, settled.commit);
    if (local) return local;
    if (described?.commit !== settled.commit) described = undefined;
    const peers = settled.peers.filter(
      ({ accountNumber }) => accountNumber === 0 || accountNumber === wanted.accountNumber,
    );
    const sources = peers.map((peer) => new PeerClient(peer));
    described ??= await this.#describeByPeers(wanted, settled.commit, sources, signal);
    described ??= await this.#describe(wanted, settled.commit, report, signal);
    return this.#pull(wanted, described, sources, { report, signal, onBytes });
  }

  /** Downloads it; once more with the token if the hub turns out to want one. */
  async #pull(
    wanted: WantedModel,
    described: Described,
    sources: readonly PeerClient[],
    hooks: {
      report(text: string): void;
      signal: AbortSignal;
      onBytes(key: ModelKey, doneBytes: number, totalBytes: number): void;
    },
  ): Promise<ModelRecord> {
    const { commit, accountNumber, files } = described;
    const key = { repository: wanted.repository, commit, accountNumber };
    const hasToken = accountNumber !== 0;
    const order = {
      key,
      revision: wanted.revision,
      files,
      peers: sources.filter((peer) => peer.accountNumber === accountNumber),
      hub: this.#hub(wanted, hasToken),
      hasToken,
    };
    try {
      return await this.#pulls.join(
        treeName(key),
        async (report, signal) =>
          // Another may have brought it since.
          this.#options.store.find(key) ??
          new ModelPull(order, {
            ...this.#options,
            report,
            signal,
            onBytes: (done, total) => hooks.onBytes(key, done, total),
          }).run(),
        hooks.report,
        hooks.signal,
      );
    } catch (error) {
      const isRejected = error instanceof ModelError && error.fault === 'FORBIDDEN';
      if (!isRejected || hasToken || !this.#mayUseToken(wanted)) throw error;
      return this.#pull(wanted, { ...described, accountNumber: wanted.accountNumber }, sources, hooks);
    }
  }

  /** Asks the hub: without the token first, so that public models are shared. Rejects with ModelError. */
  async #describe(
    wanted: WantedModel,
    revision: string,
    report: (text: string) => void,
    signal: AbortSignal,
  ): Promise<Described> {
    const { repository } = wanted;
    const ask = async (hasToken: boolean): Promise<Described> => {
      const { commit, files, gated } = await this.#hub(wanted, hasToken).describe(repository, revision, signal);
      return {
        commit,
        files,
        accountNumber: hasToken || (gated && this.#mayUseToken(wanted)) ? wanted.accountNumber : 0,
      };
    };
    const asked = async (): Promise<Described> =>
      ask(false).catch((error: unknown) => {
        if (!mayNeedToken(error) || !this.#mayUseToken(wanted)) throw error;
        return ask(true);
      });
    const hub = this.#hub(wanted, false).name;
    try {
      const onFailure = (error: unknown): void => report(`${(error as Error).message}; trying again`);
      const rule = { ...this.#options, triesMax: DESCRIBE_TRIES_MAX };
      const described = await retryHub(rule, signal, asked, { onFailure });
      const fault = filesFault(described.files);
      if (fault !== undefined) throw new ModelError('NOT_FOUND', `${repository} cannot be stored as a model: ${fault}`);
      return described;
    } catch (error) {
      signal.throwIfAborted();
      throw hubFailure({ error, hub, repository, revision, hasToken: this.#mayUseToken(wanted) });
    }
  }

  /** Asks the other machines. `undefined` if none of them answers. */
  async #describeByPeers(
    { repository }: WantedModel,
    commit: string,
    sources: readonly PeerClient[],
    signal: AbortSignal,
  ): Promise<Described | undefined> {
    for (const peer of sources) {
      const { accountNumber } = peer;
      const record = await peer.describe({ repository, commit, accountNumber }, signal).catch(() => undefined);
      signal.throwIfAborted();
      if (record) return { commit, accountNumber, files: record.files };
    }
    return undefined;
  }

  #hub({ hubAddress, hubToken }: WantedModel, hasToken: boolean): HubClient {
    const { silenceMs, clock } = this.#options;
    return new HubClient({ address: hubAddress, token: hasToken ? hubToken : '', silenceMs, clock });
  }

  #mayUseToken({ hubToken, accountNumber }: WantedModel): boolean {
    return hubToken !== '' && accountNumber > 0;
  }

  /** Returns the complete model of a commit, public or the account's own. */
  #local({ repository, accountNumber }: WantedModel, commit: string): ModelRecord | undefined {
    const { store } = this.#options;
    return store.find({ repository, commit, accountNumber: 0 }) ?? store.find({ repository, commit, accountNumber });
  }

  /** Returns the commit of the last used model that was brought under this revision; empty if there is none. */
  #localCommit({ repository, revision, accountNumber }: WantedModel): string {
    const found = this.#options.store
      .ready()
      .find(
        (record) =>
          record.repository === repository &&
          [0, accountNumber].includes(record.accountNumber) &&
          (record.commit === revision || record.revisions.includes(revision)),
      );
    return found?.commit ?? '';
  }
}
