/** Asks core which digest an image's name means on all machines. */
import type { Metadata } from '@grpc/grpc-js';
import type { AgentServiceClient, SettleImageRequest } from '@slipway/proto/gen/slipway/v1/agent_service';
import { CoreResolver } from './core-resolver.ts';

export class ImageResolver extends CoreResolver<SettleImageRequest, string> {
  /** Returns the digest to run, which another machine may have reported first. */
  protected override ask(client: AgentServiceClient, request: SettleImageRequest, metadata: Metadata): Promise<string> {
    return new Promise((resolve, reject) => {
      client.settleImage(request, metadata, (error, response) => (error ? reject(error) : resolve(response.digest)));
    });
  }
}
