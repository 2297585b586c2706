/** gRPC clients for tests, speaking for one key. */
import type { CallOptions, Client, ClientUnaryCall, Metadata, ServiceError } from '@grpc/grpc-js';
import { AccessServiceClient, KeyServiceClient } from '../../proto/gen/slipway/v1/access_service.ts';
import { AuditServiceClient } from '../../proto/gen/slipway/v1/audit_service.ts';
import { CatalogServiceClient } from '../../proto/gen/slipway/v1/catalog_service.ts';
import { EndpointServiceClient } from '../../proto/gen/slipway/v1/endpoint_service.ts';
import { JobServiceClient } from '../../proto/gen/slipway/v1/job_service.ts';
import { MachineServiceClient } from '../../proto/gen/slipway/v1/machine_service.ts';
import { PodServiceClient } from '../../proto/gen/slipway/v1/pod_service.ts';
import { ProblemServiceClient } from '../../proto/gen/slipway/v1/problem_service.ts';
import { RegistryAuthServiceClient } from '../../proto/gen/slipway/v1/registry_auth_service.ts';
import { TemplateServiceClient } from '../../proto/gen/slipway/v1/template_service.ts';
import { UsageServiceClient } from '../../proto/gen/slipway/v1/usage_service.ts';
import { VolumeServiceClient } from '../../proto/gen/slipway/v1/volume_service.ts';
import type { ClientConstructor, Transport } from '../../proto/wire/channel.ts';
import { callMetadata, systemTransport } from '../../proto/wire/channel.ts';
import { fromGrpcError } from '../../proto/wire/reason.ts';

/** All clients of one core address. */
export function grpcClients(address: string, transport: Transport = systemTransport) {
  const open = <Kind>(Constructor: ClientConstructor<Kind>): Kind => transport.openClient(Constructor, address);
  const clients = {
    access: open(AccessServiceClient),
    keys: open(KeyServiceClient),
    endpoints: open(EndpointServiceClient),
    jobs: open(JobServiceClient),
    machines: open(MachineServiceClient),
    templates: open(TemplateServiceClient),
    volumes: open(VolumeServiceClient),
    registryAuths: open(RegistryAuthServiceClient),
    pods: open(PodServiceClient),
    usage: open(UsageServiceClient),
    catalog: open(CatalogServiceClient),
    audit: open(AuditServiceClient),
    problems: open(ProblemServiceClient),
  };
  return {
    ...clients,
    close: () => {
      for (const client of Object.values(clients)) (client as Client).close();
    },
  };
}

export type GrpcClients = ReturnType<typeof grpcClients>;

// The last of the three signatures that ts-proto writes for a method: TypeScript infers from that one.
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
