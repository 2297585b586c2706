/** Calls of core that the launcher makes to set things up. */
import type { CallOptions, Metadata, ServiceError } from '@grpc/grpc-js';
import type { Clock } from '../../core/runtime/clock.ts';
import { AccessServiceClient, KeyServiceClient } from '../../proto/gen/slipway/v1/access_service.ts';
import { EndpointServiceClient } from '../../proto/gen/slipway/v1/endpoint_service.ts';
import { JobServiceClient } from '../../proto/gen/slipway/v1/job_service.ts';
import { MachineServiceClient } from '../../proto/gen/slipway/v1/machine_service.ts';
import { TemplateServiceClient } from '../../proto/gen/slipway/v1/template_service.ts';
import { callMetadata, openClient } from '../../proto/wire/channel.ts';
import { fromGrpcError } from '../../proto/wire/reason.ts';

/** A call waits this long for core, also while core is being started again. */
const CALL_MS_MAX = 15_000;

type Method<Request, Response> = (
  request: Request, metadata: Metadata, options: Partial<CallOptions>, done: (error: ServiceError | null, response: Response) => void,
) => unknown;

/** A unary call with a key; throws CoreError. */
export type Call<Request, Response> = (request: Request, key: string) => Promise<Response>;

/** The calls, and `close` for the end. */
export type CoreClient = ReturnType<typeof connectCore>;

/** Connects to one core. */
export function connectCore(address: string, clock: Clock) {
  const access = openClient(AccessServiceClient, address);
  const keys = openClient(KeyServiceClient, address);
  const templates = openClient(TemplateServiceClient, address);
  const endpoints = openClient(EndpointServiceClient, address);
  const machines = openClient(MachineServiceClient, address);
  const jobs = openClient(JobServiceClient, address);
  const unary = <Request, Response>(method: Method<Request, Response>): Call<Request, Response> => (request, key) => {
    const metadata = callMetadata(key, { waitForReady: true });
    return new Promise((resolve, reject) => {
      method(request, metadata, { deadline: clock.nowMs() + CALL_MS_MAX }, (error, response) => {
        if (error) reject(fromGrpcError(error));
        else resolve(response);
      });
    });
  };
  return {
    createAccount: unary(access.createAccount.bind(access)),
    checkAccess: unary(access.checkAccess.bind(access)),
    createKey: unary(keys.createKey.bind(keys)),
    listKeys: unary(keys.listKeys.bind(keys)),
    createTemplate: unary(templates.createTemplate.bind(templates)),
    updateTemplate: unary(templates.updateTemplate.bind(templates)),
    listTemplates: unary(templates.listTemplates.bind(templates)),
    createEndpoint: unary(endpoints.createEndpoint.bind(endpoints)),
    updateEndpoint: unary(endpoints.updateEndpoint.bind(endpoints)),
    restartEndpoint: unary(endpoints.restartEndpoint.bind(endpoints)),
    listEndpoints: unary(endpoints.listEndpoints.bind(endpoints)),
    listMachines: unary(machines.listMachines.bind(machines)),
    listWorkers: unary(machines.listWorkers.bind(machines)),
    listJobs: unary(jobs.listJobs.bind(jobs)),
    getHealth: unary(jobs.getHealth.bind(jobs)),
    close: () => { for (const client of [access, keys, templates, endpoints, machines, jobs]) client.close(); },
  };
}
