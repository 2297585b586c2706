/** All services of core for unary calls. Used by the facades, the command line and the launcher. */
import type { Client } from '@grpc/grpc-js';
import { BaseService } from '@slipway/kit/lifecycle/service';
import type { ClientConstructor } from '@slipway/kit/net/channel';
import { LargeJobServiceClient } from '@slipway/kit/net/large-message';
import { AccessServiceClient, KeyServiceClient } from '@slipway/proto/gen/slipway/v1/access_service';
import { AlertServiceClient } from '@slipway/proto/gen/slipway/v1/alert_service';
import { AuditServiceClient } from '@slipway/proto/gen/slipway/v1/audit_service';
import { BatchServiceClient } from '@slipway/proto/gen/slipway/v1/batch_service';
import { CatalogServiceClient } from '@slipway/proto/gen/slipway/v1/catalog_service';
import { EndpointServiceClient } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import { FileServiceClient } from '@slipway/proto/gen/slipway/v1/file_service';
import type { JobServiceClient } from '@slipway/proto/gen/slipway/v1/job_service';
import { JoinServiceClient } from '@slipway/proto/gen/slipway/v1/join_service';
import { MachineServiceClient } from '@slipway/proto/gen/slipway/v1/machine_service';
import { ModelServiceClient } from '@slipway/proto/gen/slipway/v1/model_service';
import { PartServiceClient } from '@slipway/proto/gen/slipway/v1/part_service';
import { PodServiceClient } from '@slipway/proto/gen/slipway/v1/pod_service';
import { ProblemServiceClient } from '@slipway/proto/gen/slipway/v1/problem_service';
import { RegistryAuthServiceClient } from '@slipway/proto/gen/slipway/v1/registry_auth_service';
import { SecretServiceClient } from '@slipway/proto/gen/slipway/v1/secret_service';
import { TemplateServiceClient } from '@slipway/proto/gen/slipway/v1/template_service';
import { UsageServiceClient } from '@slipway/proto/gen/slipway/v1/usage_service';
import { VolumeServiceClient } from '@slipway/proto/gen/slipway/v1/volume_service';
import type { ReplicaParts } from './replica-parts.ts';
import { ServiceCalls } from './service-calls.ts';

/**
 * Each service has its own channels, which its first call opens. So it works without a start; `close` then closes them.
 */
export class CoreServices extends BaseService {
  readonly name: string = 'core services';
  readonly access: ServiceCalls<AccessServiceClient>;
  readonly keys: ServiceCalls<KeyServiceClient>;
  readonly endpoints: ServiceCalls<EndpointServiceClient>;
  readonly templates: ServiceCalls<TemplateServiceClient>;
  readonly jobs: ServiceCalls<JobServiceClient>;
  readonly models: ServiceCalls<ModelServiceClient>;
  readonly files: ServiceCalls<FileServiceClient>;
  readonly batches: ServiceCalls<BatchServiceClient>;
  readonly joins: ServiceCalls<JoinServiceClient>;
  readonly machines: ServiceCalls<MachineServiceClient>;
  readonly volumes: ServiceCalls<VolumeServiceClient>;
  readonly registryAuths: ServiceCalls<RegistryAuthServiceClient>;
  readonly secrets: ServiceCalls<SecretServiceClient>;
  readonly pods: ServiceCalls<PodServiceClient>;
  readonly usage: ServiceCalls<UsageServiceClient>;
  readonly catalog: ServiceCalls<CatalogServiceClient>;
  readonly audit: ServiceCalls<AuditServiceClient>;
  readonly problems: ServiceCalls<ProblemServiceClient>;
  readonly alerts: ServiceCalls<AlertServiceClient>;
  readonly parts: ServiceCalls<PartServiceClient>;
  readonly #replicaParts: ReplicaParts;
  readonly #all: ServiceCalls<Client>[] = [];

  constructor(parts: ReplicaParts) {
    super();
    this.#replicaParts = parts;
    this.access = this.callsOf(AccessServiceClient);
    this.keys = this.callsOf(KeyServiceClient);
    this.endpoints = this.callsOf(EndpointServiceClient);
    this.templates = this.callsOf(TemplateServiceClient);
    this.jobs = this.callsOf(LargeJobServiceClient);
    this.models = this.callsOf(ModelServiceClient);
    this.files = this.callsOf(FileServiceClient);
    this.batches = this.callsOf(BatchServiceClient);
    this.joins = this.callsOf(JoinServiceClient);
    this.machines = this.callsOf(MachineServiceClient);
    this.volumes = this.callsOf(VolumeServiceClient);
    this.registryAuths = this.callsOf(RegistryAuthServiceClient);
    this.secrets = this.callsOf(SecretServiceClient);
    this.pods = this.callsOf(PodServiceClient);
    this.usage = this.callsOf(UsageServiceClient);
    this.catalog = this.callsOf(CatalogServiceClient);
    this.audit = this.callsOf(AuditServiceClient);
    this.problems = this.callsOf(ProblemServiceClient);
    this.alerts = this.callsOf(AlertServiceClient);
    this.parts = this.callsOf(PartServiceClient);
  }

  /** Returns calls with any other client, for example a client that reads the contract at run time. */
  callsOf<Kind extends Client>(constructor: ClientConstructor<Kind>): ServiceCalls<Kind> {
    const calls = new ServiceCalls(constructor, this.#replicaParts);
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
