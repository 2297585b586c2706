/**
 * Lets machines copy models from each other. Core gives each machine a key, and signs tokens for others with it. The
 * key is derived from the secret key of the installation, so it is the same on all replicas and stored nowhere.
 */

import type { Sealer } from '@slipway/kit/host/seal';
import type { Clock } from '@slipway/kit/time/clock';
import type { ModelPeer, SettleModelRequest, SettleModelResponse } from '@slipway/proto/gen/slipway/v1/agent_service';
import { MODEL_PEER_TOKEN_SECONDS, signModelPeerToken } from '@slipway/proto/wire/model-peer-token';
import { isRepository, isRevision } from '../domain/machines/model-reference.ts';
import { DomainError } from '../domain/settings/errors.ts';
import { invalid } from '../domain/settings/fields.ts';
import type { Stores } from '../store/storage.ts';
import { isCommit } from './model-messages.ts';

interface ModelPeersOptions {
  cachedModels: Stores['cachedModels'];
  sealer: Pick<Sealer, 'hash'>;
  clock: Pick<Clock, 'nowMs'>;
}

export class ModelPeers {
  readonly #options: ModelPeersOptions;

  constructor(options: ModelPeersOptions) {
    this.#options = options;
  }

  /** Returns the key with which a machine verifies tokens. */
  keyOf(machineId: string): Buffer {
    return this.#options.sealer.hash(Buffer.from(machineId), 'key of a machine for copies of its models');
  }

  /**
   * Returns the commit that is recorded for a version of an endpoint, and machines that have it. Throws NOT_FOUND if
   * the machine has no worker that needs the model, INVALID_REQUEST if a name is malformed.
   */
  async settle(machineId: string, request: SettleModelRequest): Promise<SettleModelResponse> {
    const { endpointId, version, repository, revision, commit } = request;
    if (!isRepository(repository)) throw invalid('repository must be the name of a repository, org/name');
    if (!isRevision(revision)) throw invalid('revision must be the name of a branch, tag or commit');
    if (commit !== '' && !isCommit(commit)) throw invalid('commit must be 40 hexadecimal digits, or empty');
    if (endpointId.includes('\0')) throw notFound();
    const claim = { machineId, endpointId, version, repository, revision, commit };
    const resolved = await this.#options.cachedModels.resolve(claim);
    if (resolved === undefined) throw notFound();
    if (resolved === '') return { commit: '', peers: [] };
    const holders = await this.#options.cachedModels.holders(claim, resolved);
    const expiresAt = Math.floor(this.#options.clock.nowMs() / 1_000) + MODEL_PEER_TOKEN_SECONDS;
    const peers = holders.map(({ machineId: holder, address, accountNumber }): ModelPeer => {
      const model = { repository, commit: resolved, accountNumber };
      return { address, accountNumber, token: signModelPeerToken(this.keyOf(holder), model, expiresAt) };
    });
    return { commit: resolved, peers };
  }
}

function notFound(): DomainError {
  return new DomainError('NOT_FOUND', 'This machine has no worker of that version that needs this model.');
}
