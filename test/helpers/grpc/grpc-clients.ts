/** gRPC clients for tests, speaking for one key. */
import type { CallOptions, Client, ClientUnaryCall, Metadata, ServiceError } from '@grpc/grpc-js';
import type { ClientConstructor, Transport } from '@slipway/kit/net/channel';
import { callMetadata, systemTransport } from '@slipway/kit/net/channel';
import { AccessServiceClient, KeyServiceClient } from '@slipway/proto/gen/slipway/v1/access_service';
import { AlertServiceClient } from '@slipway/proto/gen/slipway/v1/alert_service';
import { AuditServiceClient } from '@slipway/proto/gen/slipway/v1/audit_service';
import { BatchServiceClient } from '@slipway/proto/gen/slipway/v1/batch_service';
import { CatalogServiceClient } from '@slipway/proto/gen/slipway/v1/catalog_service';
import { EndpointServiceClient } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import { FileServiceClient } from '@slipway/proto/gen/slipway/v1/file_service';
import { JobServiceClient } from '@slipway/proto/gen/slipway/v1/job_service';
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
import { fromGrpcError } from '@slipway/proto/wire/reason';

/** Returns all clients of one core address. */
export function grpcClients(address: string, transport: Transport = systemTransport) {
  const open = <Kind>(Constructor: ClientConstructor<Kind>): Kind => transport.openClient(Constructor, address);
  const clients = {
    access: open(AccessServiceClient),
    keys: open(KeyServiceClient),
    endpoints: open(EndpointServiceClient),
    jobs: open(JobServiceClient),
    models: open(ModelServiceClient),
    files: open(FileServiceClient),
    batches: open(BatchServiceClient),
    machines: open(MachineServiceClient),
    templates: open(TemplateServiceClient),
    volumes: open(VolumeServiceClient),
    registryAuths: open(RegistryAuthServiceClient),
    secrets: open(SecretServiceClient),
    pods: open(PodServiceClient),
    usage: open(UsageServiceClient),
    catalog: open(CatalogServiceClient),
    audit: open(AuditServiceClient),
    problems: open(ProblemServiceClient),
    alerts: open(AlertServiceClient),
    parts: open(PartServiceClient),
  };
  return {
    ...clients,
    close: () => {
      for (const client of Object.values(clients)) (client as Client).close();
    },
  };
}

export type GrpcClients = ReturnType<typeof grpcClients>;

// TypeScript infers from the last of the three signatures that ts-proto writes for a method.
type Done<Response> = (error: ServiceError | null, response: Response) => void;
type Unary<Request, Response> = (
  request: Request,
  metadata: Metadata,
  options: Partial<CallOptions>,
  done: Done<Response>,
) => ClientUnaryCall;
type RequestOf<Method> = Method extends Unary<infer Request, infer _> ? Request : never;
type ResponseOf<Method> = Method extends Unary<infer _, infer Response> ? Response : never;

/** Calls a unary method with a key. Failures are CoreErrors. Usage: `call(clients.jobs, 'getJob', request, key)`. */
export function call<C extends Client, Name extends keyof C>(
  client: C,
  method: Name,
  request: RequestOf<C[Name]>,
  key: string,
): Promise<ResponseOf<C[Name]>> {
  const metadata = callMetadata(key);
  return new Promise((resolve, reject) => {
    (client[method] as Unary<unknown, ResponseOf<C[Name]>>).call(client, request, metadata, {}, (error, response) => {
      if (error) reject(fromGrpcError(error));
      else resolve(response);
    });
  });
}
