/** The public facades' way to core: single calls to every service, and the pipelines for what is small and hot. */
import type { Logger } from '../../core/runtime/logger.ts';
import type { Service } from '../../core/runtime/service.ts';
import { JobServiceClient } from '../../proto/gen/slipway/v1/job_service.ts';
import { openClient } from '../../proto/wire/channel.ts';
import { CoreServices } from './core-services.ts';
import { PipelineClient } from './pipeline-client.ts';
import { PipelinedJobs } from './pipelined-jobs.ts';
import type { ReplicaParts } from './service-calls.ts';

export class CoreClient extends CoreServices implements Service {
  readonly name = 'core client';
  /** Job calls over the pipelines where they fit; they work once it is started. */
  readonly pipelined: PipelinedJobs;
  readonly #pipeline: PipelineClient;

  constructor(parts: ReplicaParts & { logger: Logger }) {
    super(parts);
    const targets = parts.addresses.map((address) => ({ address, client: openClient(JobServiceClient, address, { tls: parts.tls }) }));
    this.#pipeline = new PipelineClient({ ...parts, targets });
    this.pipelined = new PipelinedJobs(this.#pipeline, this.jobs, parts.clock);
  }

  /** Does not wait for core: a facade that starts first answers 503 until core is there. */
  async start(): Promise<void> {
    await this.#pipeline.start();
  }

  async stop(): Promise<void> {
    await this.#pipeline.stop();
    this.close();
  }

  /** Ends all waits early. */
  abandonAll(): void {
    this.#pipeline.abandonAll();
  }
}
