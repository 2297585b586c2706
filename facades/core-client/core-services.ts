/** Every service of core for single calls: what the facades, the command line and the launcher have in common. */
import type { Client } from '@grpc/grpc-js';
import { BaseService } from '../../core/runtime/service.ts';
import { AccessServiceClient, KeyServiceClient } from '../../proto/gen/slipway/v1/access_service.ts';
import { AuditServiceClient } from '../../proto/gen/slipway/v1/audit_service.ts';
import { CatalogServiceClient } from '../../proto/gen/slipway/v1/catalog_service.ts';
import { EndpointServiceClient } from '../../proto/gen/slipway/v1/endpoint_service.ts';
import type { JobServiceClient } from '../../proto/gen/slipway/v1/job_service.ts';
import { MachineServiceClient } from '../../proto/gen/slipway/v1/machine_service.ts';
import { PodServiceClient } from '../../proto/gen/slipway/v1/pod_service.ts';
import { ProblemServiceClient } from '../../proto/gen/slipway/v1/problem_service.ts';
import { RegistryAuthServiceClient } from '../../proto/gen/slipway/v1/registry_auth_service.ts';
import { TemplateServiceClient } from '../../proto/gen/slipway/v1/template_service.ts';
import { UsageServiceClient } from '../../proto/gen/slipway/v1/usage_service.ts';
import { VolumeServiceClient } from '../../proto/gen/slipway/v1/volume_service.ts';
import type { ClientConstructor } from '../../proto/wire/channel.ts';
import { LargeJobServiceClient } from '../../proto/wire/large-message.ts';
import type { ReplicaParts } from './replica-parts.ts';
import { ServiceCalls } from './service-calls.ts';

/**
 * Each service has channels of its own, which its first call opens, so that it works unstarted too: then `close` ends
 * it.
 */
export class CoreServices extends BaseService {
  readonly name: string = 'core services';
  readonly access: ServiceCalls<AccessServiceClient>;
  readonly keys: ServiceCalls<KeyServiceClient>;
  readonly endpoints: ServiceCalls<EndpointServiceClient>;
  readonly templates: ServiceCalls<TemplateServiceClient>;
  readonly jobs: ServiceCalls<JobServiceClient>;
  readonly machines: ServiceCalls<MachineServiceClient>;
  readonly volumes: ServiceCalls<VolumeServiceClient>;
  readonly registryAuths: ServiceCalls<RegistryAuthServiceClient>;
  readonly pods: ServiceCalls<PodServiceClient>;
  readonly usage: ServiceCalls<UsageServiceClient>;
  readonly catalog: ServiceCalls<CatalogServiceClient>;
  readonly audit: ServiceCalls<AuditServiceClient>;
  readonly problems: ServiceCalls<ProblemServiceClient>;
  readonly #parts: ReplicaParts;
  readonly #all: ServiceCalls<Client>[] = [];

  constructor(parts: ReplicaParts) {
    super();
    this.#parts = parts;
    this.access = this.callsOf(AccessServiceClient);
    this.keys = this.callsOf(KeyServiceClient);
    this.endpoints = this.callsOf(EndpointServiceClient);
    this.templates = this.callsOf(TemplateServiceClient);
    this.jobs = this.callsOf(LargeJobServiceClient);
    this.machines = this.callsOf(MachineServiceClient);
    this.volumes = this.callsOf(VolumeServiceClient);
    this.registryAuths = this.callsOf(RegistryAuthServiceClient);
    this.pods = this.callsOf(PodServiceClient);
    this.usage = this.callsOf(UsageServiceClient);
    this.catalog = this.callsOf(CatalogServiceClient);
    this.audit = this.callsOf(AuditServiceClient);
    this.problems = this.callsOf(ProblemServiceClient);
  }

  /** Calls by a client of one's own making, for instance one that knows the contract at run time only. */
  callsOf<Kind extends Client>(constructor: ClientConstructor<Kind>): ServiceCalls<Kind> {
    const calls = new ServiceCalls(constructor, this.#parts);
    this.#all.push(calls);
    return calls;
  }

  /** Closes the channels; calls in flight end. */
  close(): void {
    for (const calls of this.#all) calls.close();
  }

  protected override onStart(): void | Promise<void> {}

  protected override onStop(): void | Promise<void> {
    this.close();
  }
}
