/**
 * Sends CheckAccess over the pipelines, because a unary call costs forty times as much. Falls back to a unary call if
 * core is older or the pipelines are full.
 */
import type {
  AccessServiceClient,
  CheckAccessRequest,
  CheckAccessResponse,
} from '@slipway/proto/gen/slipway/v1/access_service';
import type { Reason } from '@slipway/proto/wire/reason';
import { CoreError } from '@slipway/proto/wire/reason';
import type { PipelineClient } from './pipeline-client.ts';
import type { ServiceCalls } from './service-calls.ts';

/** Reasons that are no decision on a key: core does not know the call, or the pipelines are full. */
const UNARY_FALLBACK: ReadonlySet<Reason> = new Set<Reason>(['INVALID_REQUEST', 'RATE_LIMITED']);

export class PipelinedAccess {
  readonly #pipeline: PipelineClient;
  readonly #unary: ServiceCalls<AccessServiceClient>;

  constructor(pipeline: PipelineClient, unary: ServiceCalls<AccessServiceClient>) {
    this.#pipeline = pipeline;
    this.#unary = unary;
  }

  /** Throws CoreError. */
  async check(apiKey: string, request: CheckAccessRequest): Promise<CheckAccessResponse> {
    try {
      const reply = await this.#pipeline.open(apiKey, { $case: 'checkAccess', value: request }).answer;
      if (reply.$case === 'checkAccess') return reply.value;
      throw new CoreError('INTERNAL', 'core answered another call');
    } catch (error) {
      if (!(error instanceof CoreError) || !UNARY_FALLBACK.has(error.reason)) throw error;
      return this.#unary.call((client) => client.checkAccess, request, { apiKey, repeatable: true });
    }
  }
}
