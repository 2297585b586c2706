/** Reads what the account has, in the sections of a file. */

import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { RegistryAuth } from '@slipway/proto/gen/slipway/v1/registry_auth_service';
import type { Secret } from '@slipway/proto/gen/slipway/v1/secret_service';
import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import type { NetworkVolume } from '@slipway/proto/gen/slipway/v1/volume_service';
import { allPages } from '@slipway/proto/wire/pages';
import type { Cli } from '../cli.ts';

/** Resources by section, each with its id and name. Endpoints come with what they run. */
export interface Account {
  secrets: Secret[];
  registryAuths: RegistryAuth[];
  networkVolumes: NetworkVolume[];
  templates: Template[];
  endpoints: Endpoint[];
}

/** Reads the account. */
export async function readAccount({ core, output }: Cli): Promise<Account> {
  output.progress('Reading what is there');
  const [secrets, registryAuths, networkVolumes, templates, endpoints] = await Promise.all([
    allPages(
      (page) => core.secrets.call((client) => client.listSecrets, page),
      ({ secrets }) => secrets,
    ),
    allPages(
      (page) => core.registryAuths.call((client) => client.listRegistryAuths, page),
      ({ registryAuths }) => registryAuths,
    ),
    allPages(
      (page) => core.volumes.call((client) => client.listNetworkVolumes, page),
      ({ networkVolumes }) => networkVolumes,
    ),
    allPages(
      (page) => core.templates.call((client) => client.listTemplates, { includePublic: false, ...page }),
      ({ templates }) => templates.filter(({ serverless }) => serverless),
    ),
    allPages(
      (page) => core.endpoints.call((client) => client.listEndpoints, { includeTemplate: true, ...page }),
      ({ endpoints }) => endpoints,
    ),
  ]);
  output.clearProgress();
  return { secrets, registryAuths, networkVolumes, templates, endpoints };
}

/** Returns the template that the endpoint alone runs. `undefined` if it runs one with a name. */
export function ownTemplateIn({ template }: Endpoint): Template | undefined {
  return template?.boundEndpointId ? template : undefined;
}
