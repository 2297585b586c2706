/** Creates endpoints for tests. */
import { randomBytes } from 'node:crypto';
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import type { GrpcClients } from '../grpc/grpc-clients.ts';
import { call } from '../grpc/grpc-clients.ts';
import { waitFor } from '../time/wait-for.ts';

/** An endpoint to create. */
export interface EndpointOptions {
  /** Command that runs the handler: jsHandler('echo.js') or pythonHandler('new', 'echo.py'). */
  command: string[];
  /** Image of its workers; then the command may be empty. Default: none, its command runs on the host. */
  imageName?: string;
  /** Registry credentials for it. */
  registryAuthId?: string;
  /** Fields of the endpoint over { workersMin: 1 }. */
  fields?: Partial<Endpoint>;
  workersMax?: number;
  retryLimit?: number;
  env?: Record<string, string>;
  /** Wait until this many workers are ready. Default workersMin. */
  ready?: number;
  /** Account key to use. Default the system's. */
  key?: string;
}

/** Creates a template and an endpoint, and waits until its workers are ready. Returns the endpoint's id. */
export async function createEndpoint(clients: GrpcClients, owner: string, given: EndpointOptions): Promise<string> {
  const name = `test-${randomBytes(6).toString('hex')}`;
  const { command: startCommand, env = {}, imageName = '', registryAuthId = '' } = given;
  const template = Template.fromPartial({ name, imageName, startCommand, env, registryAuthId, serverless: true });
  const { template: made } = await call(clients.templates, 'createTemplate', { template }, owner);
  const endpoint = Endpoint.fromPartial({
    name,
    templateId: made!.id,
    workersMin: 1,
    idleTimeoutSeconds: 60,
    ...given.fields,
  });
  const { endpoint: created } = await call(
    clients.endpoints,
    'createEndpoint',
    {
      endpoint,
      requestId: '',
      workersMax: given.workersMax ?? Math.max(3, endpoint.workersMin),
      retryLimit: given.retryLimit,
    },
    owner,
  );
  const wanted = given.ready ?? endpoint.workersMin;
  await waitFor(`${wanted} ready workers of ${given.command.at(-1)}`, async () => {
    const { workers } = await call(clients.jobs, 'getHealth', { endpointId: created!.id }, owner);
    return workers!.ready + workers!.running >= wanted;
  });
  return created!.id;
}
