/** Reads what the account has here already, and what this installation offers. */

import type { GpuPool, GpuType } from '@slipway/proto/gen/slipway/v1/catalog_service';
import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import type { RegistryAuth } from '@slipway/proto/gen/slipway/v1/registry_auth_service';
import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import type { NetworkVolume } from '@slipway/proto/gen/slipway/v1/volume_service';
import { allPages } from '@slipway/proto/wire/pages';
import type { Cli } from '../cli.ts';

export interface TargetAccount {
  endpoints: Endpoint[];
  templates: Template[];
  volumes: NetworkVolume[];
  pods: Pod[];
  registries: RegistryAuth[];
  /** Names of secrets: the planned ones are added. */
  secrets: Set<string>;
  /** SSH keys, one a line. */
  sshKeys: string[];
  pools: GpuPool[];
  gpuTypes: GpuType[];
  /** Ids and country codes of data centres. */
  locations: ReadonlySet<string>;
}

/** Reads the account. */
export async function readTarget({ core, output }: Cli): Promise<TargetAccount> {
  output.progress('Reading what is here');
  const [endpoints, templates, volumes, pods, registries, secrets, { account }, gpuPools, gpuTypes, dataCenters] =
    await Promise.all([
      allPages(
        (page) => core.endpoints.call((client) => client.listEndpoints, { includeTemplate: true, ...page }),
        ({ endpoints }) => endpoints,
      ),
      allPages(
        (page) => core.templates.call((client) => client.listTemplates, { includePublic: false, ...page }),
        ({ templates }) => templates,
      ),
      allPages(
        (page) => core.volumes.call((client) => client.listNetworkVolumes, page),
        ({ networkVolumes }) => networkVolumes,
      ),
      allPages(
        (page) =>
          core.pods.call((client) => client.listPods, {
            includeWorkers: false,
            endpointId: '',
            endpointIds: [],
            ...page,
          }),
        ({ pods }) => pods,
      ),
      allPages(
        (page) => core.registryAuths.call((client) => client.listRegistryAuths, page),
        ({ registryAuths }) => registryAuths,
      ),
      allPages(
        (page) => core.secrets.call((client) => client.listSecrets, page),
        ({ secrets }) => secrets,
      ),
      core.access.call((client) => client.getAccount, {}),
      core.catalog.call((client) => client.listGpuPools, {}),
      core.catalog.call((client) => client.listGpuTypes, {}),
      core.catalog.call((client) => client.listDataCenters, {}),
    ]);
  output.clearProgress();
  return {
    endpoints,
    templates,
    volumes,
    pods,
    registries,
    secrets: new Set(secrets.map(({ name }) => name)),
    sshKeys: linesOf(account?.publicKey ?? ''),
    pools: gpuPools.gpuPools,
    gpuTypes: gpuTypes.gpuTypes,
    locations: new Set(dataCenters.dataCenters.flatMap(({ id, countryCode }) => [id, countryCode].filter(Boolean))),
  };
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
