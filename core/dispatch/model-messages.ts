/** Converts the models of machines and workers between messages and the store. */

import type { MachineModels as MachineModelsMessage } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { CachedModel as CachedModelMessage } from '@slipway/proto/gen/slipway/v1/machine';
import { CachedModelState, ModelFault } from '@slipway/proto/gen/slipway/v1/machine';
import type {
  CachedModel,
  ModelFault as Fault,
  MachineModels,
  CachedModelState as State,
} from '../domain/machines/cached-model.ts';
import { isRepository, isRevision } from '../domain/machines/model-reference.ts';
import { ADDRESS_FORM } from './agent-messages.ts';

/** Most models stored per machine. Agents send the latest used first. */
const MODELS_MAX = 200;
const ERROR_LENGTH_MAX = 1_024;
/** No model of any machine: an agent of an earlier release, or one without space for models. */
export const NO_MODELS: MachineModels = { models: [], limitBytes: 0, usedBytes: 0, peerAddress: '' };

const STATES: Record<CachedModelState, State | undefined> = {
  [CachedModelState.UNSPECIFIED]: undefined,
  [CachedModelState.DOWNLOADING]: 'DOWNLOADING',
  [CachedModelState.READY]: 'READY',
  [CachedModelState.FAILED]: 'FAILED',
};
const FAULTS: Record<ModelFault, Fault> = {
  [ModelFault.UNSPECIFIED]: '',
  [ModelFault.NOT_FOUND]: 'NOT_FOUND',
  [ModelFault.FORBIDDEN]: 'FORBIDDEN',
  [ModelFault.CORRUPT]: 'CORRUPT',
  [ModelFault.DISK_FULL]: 'DISK_FULL',
  [ModelFault.UNREACHABLE]: 'UNREACHABLE',
};

/** Returns true if this is the id of a commit. */
export function isCommit(text: string): boolean {
  return /^[0-9a-f]{40}$/.test(text);
}

/**
 * Returns the models of a machine, the first of each name and account, at most MODELS_MAX. Malformed ones are dropped,
 * because one of them must not keep the others from being known.
 */
export function modelsFromMessage(message: MachineModelsMessage | undefined): MachineModels {
  if (!message) return NO_MODELS;
  const byKey = new Map<string, CachedModel>();
  for (const entry of message.models) {
    if (byKey.size === MODELS_MAX) break;
    const model = modelFromMessage(entry);
    if (!model) continue;
    const key = `${model.accountNumber} ${model.repository} ${model.revision}`;
    if (!byKey.has(key)) byKey.set(key, model);
  }
  const { limitBytes, usedBytes, peerAddress } = message;
  return {
    models: [...byKey.values()],
    limitBytes: Math.max(0, limitBytes),
    usedBytes: Math.max(0, usedBytes),
    peerAddress: peerAddress !== 'tunnel' && ADDRESS_FORM.test(peerAddress) ? peerAddress : '',
  };
}

function modelFromMessage(message: CachedModelMessage): CachedModel | undefined {
  const { repository, revision, commit, accountNumber } = message;
  const state = STATES[message.state];
  if (!state || !isRepository(repository) || !isRevision(revision)) return undefined;
  if (accountNumber < 0 || (commit !== '' && !isCommit(commit)) || (state === 'READY' && commit === ''))
    return undefined;
  const hasFailed = state === 'FAILED';
  return {
    repository,
    revision,
    commit,
    state,
    sizeBytes: Math.max(0, message.sizeBytes),
    downloadedBytes: Math.max(0, message.downloadedBytes),
    fault: hasFailed ? (FAULTS[message.fault] ?? '') : '',
    error: hasFailed ? message.error.replaceAll('\0', '').slice(0, ERROR_LENGTH_MAX) : '',
    accountNumber,
  };
}

/** Returns a model for people. */
export function modelToMessage({ state, fault, ...model }: CachedModel): CachedModelMessage {
  return { ...model, state: CachedModelState[state], fault: fault === '' ? ModelFault.UNSPECIFIED : ModelFault[fault] };
}
