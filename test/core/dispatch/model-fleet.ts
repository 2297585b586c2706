/** Machines with models, and calls about them. */

import { callMetadata, systemTransport } from '@slipway/kit/net/channel';
import type { SettleModelResponse } from '@slipway/proto/gen/slipway/v1/agent_service';
import { AgentServiceClient, MachineModels, SettleModelRequest } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { CachedModel } from '@slipway/proto/gen/slipway/v1/machine';
import { CachedModelState } from '@slipway/proto/gen/slipway/v1/machine';
import { fromGrpcError } from '@slipway/proto/wire/reason';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import type { ScriptedAgent } from '../../helpers/grpc/scripted-agent.ts';
import type { CoreReplicas } from '../../helpers/system/core-replicas.ts';

export const GB = 1_000_000_000;
export const commit = (digit: string): string => digit.repeat(40);
/** Returns a model that is ready. */
export const cached = (repository: string, fields: Partial<CachedModel> = {}) => ({
  repository,
  revision: 'main',
  commit: commit('a'),
  state: CachedModelState.READY,
  sizeBytes: 2 * GB,
  downloadedBytes: 2 * GB,
  ...fields,
});
/** Returns the models of a machine that has 10 GB for them. */
export const models = (...entries: Partial<CachedModel>[]) =>
  MachineModels.fromPartial({ models: entries, limitBytes: 10 * GB, usedBytes: 2 * GB, peerAddress: '10.0.0.1:8080' });

/** Calls of a test. */
export const modelCalls = (core: CoreReplicas) => ({
  /** Workers of an endpoint that an agent was asked to start. */
  ordered: (agent: ScriptedAgent, endpointId: string) =>
    agent.desired.filter((worker) => worker.endpointId === endpointId),
  settle: async (agent: ScriptedAgent, fields: Partial<SettleModelRequest>): Promise<SettleModelResponse> => {
    const client = systemTransport.openClient(AgentServiceClient, core.replicas[0]!.address);
    const metadata = callMetadata(await core.keyOf(agent.machineId));
    const request = SettleModelRequest.fromPartial({ revision: 'main', ...fields });
    return new Promise<SettleModelResponse>((resolve, reject) => {
      client.settleModel(request, metadata, (error, answer) => {
        client.close();
        if (error) reject(fromGrpcError(error));
        else resolve(answer);
      });
    });
  },
  remove: async (endpointId: string) =>
    call(core.clients.endpoints, 'deleteEndpoint', { id: endpointId, stopWorkers: true }, core.key),
  explain: async (endpointId: string, as = core.key) =>
    (await call(core.clients.endpoints, 'explain', { endpointId }, as)).explanation!,
});
