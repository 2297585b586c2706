/** The facades' client of core: unary calls to every service, and pipelines for small, frequent calls. */
import type { Logger } from '@slipway/kit/log/logger';
import { CoreServices } from './core-services.ts';
import { PipelineClient } from './pipeline-client.ts';
import { PipelinedAccess } from './pipelined-access.ts';
import { PipelinedJobs } from './pipelined-jobs.ts';
import type { ReplicaParts } from './replica-parts.ts';

export class CoreClient extends CoreServices {
  override readonly name = 'core client';
  /** Job calls over the pipelines where they fit; they work once it is started. */
  readonly pipelined: PipelinedJobs;
  /** Checks of keys, the same way. */
  readonly pipelinedAccess: PipelinedAccess;
  readonly #pipeline: PipelineClient;

  constructor(parts: ReplicaParts & { logger: Logger }) {
    super(parts);
    this.#pipeline = new PipelineClient(parts);
    this.pipelinedAccess = new PipelinedAccess(this.#pipeline, this.access);
    this.pipelined = new PipelinedJobs(this.#pipeline, this.jobs, parts.clock);
  }

  /** Ends all waits early. */
  abandonAll(): void {
    this.#pipeline.abandonAll();
  }

  /** Does not wait for core. A facade that starts first responds with 503 until core is available. */
  protected override onStart(): Promise<void> {
    return this.#pipeline.start();
  }

  protected override async onStop(): Promise<void> {
    await this.#pipeline.stop();
    this.close();
  }
}
