/** The facade's way to core: channels to every replica, the pipelines, and one object per service. */
import type { Client } from '@grpc/grpc-js';
import type { Clock, Random } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Service } from '../../core/runtime/service.ts';
import { AccessServiceClient } from '../../proto/gen/slipway/v1/access_service.ts';
import { CatalogServiceClient } from '../../proto/gen/slipway/v1/catalog_service.ts';
import { EndpointServiceClient } from '../../proto/gen/slipway/v1/endpoint_service.ts';
import { JobServiceClient } from '../../proto/gen/slipway/v1/job_service.ts';
import { PodServiceClient } from '../../proto/gen/slipway/v1/pod_service.ts';
import { RegistryAuthServiceClient } from '../../proto/gen/slipway/v1/registry_auth_service.ts';
import { TemplateServiceClient } from '../../proto/gen/slipway/v1/template_service.ts';
import { UsageServiceClient } from '../../proto/gen/slipway/v1/usage_service.ts';
import { VolumeServiceClient } from '../../proto/gen/slipway/v1/volume_service.ts';
import { openClient } from '../../proto/wire/channel.ts';
import type { ClientConstructor } from '../../proto/wire/channel.ts';
import { PipelinedJobs } from './pipelined-jobs.ts';
import { PipelineClient } from './pipeline-client.ts';
import { ServiceCalls } from './service-calls.ts';

/** Parts handed to the core client. */
export interface CoreClientOptions {
  /** host:port of every replica. */
  addresses: readonly string[];
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class CoreClient implements Service {
  readonly name = 'core client';
  readonly jobs: PipelinedJobs;
  readonly access: ServiceCalls<AccessServiceClient>;
  readonly endpoints: ServiceCalls<EndpointServiceClient>;
  readonly templates: ServiceCalls<TemplateServiceClient>;
  readonly volumes: ServiceCalls<VolumeServiceClient>;
  readonly registryAuths: ServiceCalls<RegistryAuthServiceClient>;
  readonly pods: ServiceCalls<PodServiceClient>;
  readonly usage: ServiceCalls<UsageServiceClient>;
  readonly catalog: ServiceCalls<CatalogServiceClient>;
  readonly #pipeline: PipelineClient;
  readonly #closers: (() => void)[] = [];

  constructor(options: CoreClientOptions) {
    const { addresses, clock, random, logger } = options;
    const targets = addresses.map((address) => ({ address, client: openClient(JobServiceClient, address) }));
    this.#pipeline = new PipelineClient({ targets, clock, random, logger });
    const unary = <Kind extends Client>(Constructor: ClientConstructor<Kind>): ServiceCalls<Kind> => {
      const clients = addresses.map((address) => openClient(Constructor, address));
      const calls = new ServiceCalls(clients, clock, random);
      this.#closers.push(() => calls.close());
      return calls;
    };
    this.jobs = new PipelinedJobs(this.#pipeline, unary(JobServiceClient), clock);
    this.access = unary(AccessServiceClient);
    this.endpoints = unary(EndpointServiceClient);
    this.templates = unary(TemplateServiceClient);
    this.volumes = unary(VolumeServiceClient);
    this.registryAuths = unary(RegistryAuthServiceClient);
    this.pods = unary(PodServiceClient);
    this.usage = unary(UsageServiceClient);
    this.catalog = unary(CatalogServiceClient);
  }

  /** Does not wait for core: a facade that starts first answers 503 until core is there. */
  async start(): Promise<void> {
    await this.#pipeline.start();
  }

  async stop(): Promise<void> {
    await this.#pipeline.stop();
    for (const close of this.#closers) close();
  }

  /** Ends all waits early. */
  abandonAll(): void {
    this.#pipeline.abandonAll();
  }
}
