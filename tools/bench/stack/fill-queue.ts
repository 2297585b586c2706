/** Queues many jobs quickly, through the job service's pipeline, as a facade would. */
import { Metadata } from '@grpc/grpc-js';
import { systemTransport } from '@slipway/kit/net/channel';
import { SubmitKind } from '@slipway/proto/gen/slipway/v1/job';
import type { PipelineCall, PipelineResponse } from '@slipway/proto/gen/slipway/v1/job_service';
import { JobServiceClient, PipelineRequest, SubmitJobRequest } from '@slipway/proto/gen/slipway/v1/job_service';
import { INPUT } from './bench.ts';
import type { Stack } from './stack.ts';

/** Calls of one message, and most unanswered calls. */
const BATCH = 250;
const WINDOW = 2_000;

/** Queues `count` jobs. Resolves when all are stored. */
export async function fillQueue(stack: Stack, endpointId: string, count: number): Promise<void> {
  const client = systemTransport.openClient(JobServiceClient, stack.coreAddress);
  const stream = client.pipeline(new Metadata());
  const submit = SubmitJobRequest.fromPartial({ endpointId, kind: SubmitKind.ASYNC, input: Buffer.from(INPUT) });
  let sent = 0;
  let stored = 0;
  const send = (): void => {
    while (sent < count && sent - stored < WINDOW) {
      const size = Math.min(BATCH, count - sent);
      const calls = Array.from(
        { length: size },
        (_, i): PipelineCall => ({ callId: sent + i, apiKey: stack.key, call: { $case: 'submit', value: submit } }),
      );
      stream.write(PipelineRequest.fromPartial({ calls }));
      sent += size;
    }
  };
  await new Promise<void>((resolve, reject) => {
    stream.on('error', reject);
    stream.on('data', (response: PipelineResponse) => {
      for (const { reply } of response.replies) {
        if (reply?.$case !== 'submit') return reject(new Error(`a submission failed: ${JSON.stringify(reply?.value)}`));
        stored += 1;
      }
      if (stored === count) resolve();
      else send();
    });
    send();
  });
  stream.end();
  client.close();
}
