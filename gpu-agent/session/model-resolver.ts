/** Asks core which commit a model's revision means on all machines, and which of them have it. */
import type { Metadata } from '@grpc/grpc-js';
import type {
  AgentServiceClient,
  SettleModelRequest,
  SettleModelResponse,
} from '@slipway/proto/gen/slipway/v1/agent_service';
import { CoreResolver } from './core-resolver.ts';

export class ModelResolver extends CoreResolver<SettleModelRequest, SettleModelResponse> {
  /** Returns the commit to use, and the machines that have it. */
  protected override ask(
    client: AgentServiceClient,
    request: SettleModelRequest,
    metadata: Metadata,
  ): Promise<SettleModelResponse> {
    return new Promise((resolve, reject) => {
      client.settleModel(request, metadata, (error, response) => (error ? reject(error) : resolve(response)));
    });
  }
}
