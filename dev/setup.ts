/**
 * Makes what a user needs before the first job: an account, keys, a template and an endpoint. Every step makes only
 * what is missing, so the next start finishes one that was interrupted anywhere.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { CoreServices } from '@slipway/facades/core-client/core-services';
import { Api, KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { Endpoint, EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import type { PageRequest } from '@slipway/proto/wire/pages';
import { allPages } from '@slipway/proto/wire/pages';
import { CoreError } from '@slipway/proto/wire/reason';
import { by } from './call-by.ts';
import { exampleInput } from './example-request.ts';
import type { Handler } from './handler/handler.ts';
import { distinctName } from './handler/handler.ts';
import type { Secrets } from './secrets.ts';

/** Name of the account that everything here belongs to. */
export const ACCOUNT_NAME = 'local';
/** Marks the templates that are made here, so that the user's own endpoints are left alone. */
const TEMPLATE_README = 'Made by `npm start`; its command is kept up to date by it.';
const WORKERS_MAX = 3;
const IDLE_TIMEOUT_SECONDS = 60;

/**
 * Makes the account, its key and the key of this machine's agent unless the stored keys work. Returns true if `secrets`
 * has changed and must be saved.
 */
export async function ensureKeys(core: CoreServices, secrets: Secrets, agentDir: string): Promise<boolean> {
  const hasAccountKey = secrets.apiKey !== undefined && (await keyWorks(core, secrets.apiKey));
  const hasAgentKey = secrets.agentKey !== undefined && (await agentKeyWorks(core, secrets, agentDir));
  if (hasAccountKey && hasAgentKey) return false;
  const createKey = (name: string, scope: KeyScope, accountId: string) =>
    core.keys.call(
      (client) => client.createKey,
      { name, scope, endpointIds: [], accountId, permissions: undefined },
      by(secrets.rootKey),
    );
  if (!hasAccountKey) {
    const { accountId } = await core.access.call(
      (client) => client.createAccount,
      { name: ACCOUNT_NAME },
      by(secrets.rootKey),
    );
    secrets.apiKey = (await createKey('npm start', KeyScope.ALL, accountId)).secret;
  }
  if (!hasAgentKey) {
    const { key, secret } = await createKey('agent of npm start', KeyScope.AGENT, '');
    Object.assign(secrets, { agentKey: secret, agentKeyId: key!.id });
  }
  return true;
}

/**
 * Returns whether the agent's key works. It does not if it was revoked or belongs to another machine: one that joined
 * with it, or one whose data folder was deleted.
 */
async function agentKeyWorks(core: CoreServices, { rootKey, agentKeyId }: Secrets, agentDir: string): Promise<boolean> {
  const { keys } = await core.keys.call((client) => client.listKeys, { accountId: '' }, by(rootKey));
  const key = keys.find(({ id }) => id === agentKeyId);
  return (
    key !== undefined &&
    key.revokeTime === undefined &&
    (key.machineId === '' || key.machineId === readMachineId(agentDir))
  );
}

function readMachineId(agentDir: string): string | undefined {
  try {
    return readFileSync(join(agentDir, 'machine-id'), 'utf8').trim();
  } catch {
    return undefined;
  }
}

async function keyWorks(core: CoreServices, key: string): Promise<boolean> {
  try {
    await core.access.call((client) => client.checkAccess, { endpointId: '', write: true, api: Api.JOBS }, by(key));
    return true;
  } catch (error) {
    // This is another database, or it was emptied.
    if (error instanceof CoreError && error.reason === 'UNAUTHORIZED') return false;
    throw error;
  }
}

/** Returns the names of the GPUs of the connected machines. `key`: the operator's. */
export async function gpuNames(core: CoreServices, key: string): Promise<string[]> {
  const machines = await allPages(
    (page) => core.machines.call((client) => client.listMachines, page, by(key)),
    (response) => response.machines,
  );
  const gpus = machines.filter((machine) => machine.connected).flatMap((machine) => machine.machine?.gpus ?? []);
  return [...new Set(gpus.map((gpu) => gpu.name))];
}

/**
 * Makes or updates the handler's template and endpoint and keeps one worker of it running. Workers of other handlers
 * are scaled to zero. Returns the endpoint's id.
 */
export async function ensureEndpoint(
  core: CoreServices,
  key: string,
  handler: Handler,
  gpus: readonly string[],
): Promise<string> {
  const template = await ensureTemplate(core, key, handler);
  const endpoints = await allPages(
    (page) => core.endpoints.call((client) => client.listEndpoints, page, by(key)),
    (response) => response.endpoints,
  );
  const type = handler.lb ? EndpointType.LB : EndpointType.QB;
  // A file can be served both ways. These are two endpoints of one template.
  const existing = endpoints.find((endpoint) => endpoint.templateId === template.id && endpoint.type === type);
  await restOthers(core, key, endpoints, existing?.id);
  const example = exampleInput(handler);
  if (existing) {
    if (existing.workersMin === 0 || existing.workersMax === 0) await setWorkers(core, key, existing, 1);
    if (example !== '' && example !== existing.exampleInput) await setExample(core, key, existing, example);
    return existing.id;
  }
  const endpoint = Endpoint.fromPartial({
    name: template.name,
    templateId: template.id,
    type,
    workersMin: 1,
    idleTimeoutSeconds: IDLE_TIMEOUT_SECONDS,
    gpuIds: [...gpus],
    computeType: gpus.length > 0 ? 'GPU' : 'CPU',
    exampleInput: example,
  });
  const request = { endpoint, requestId: '', workersMax: WORKERS_MAX, retryLimit: undefined };
  const created = await core.endpoints.call((client) => client.createEndpoint, request, by(key));
  return created.endpoint!.id;
}

async function ensureTemplate(core: CoreServices, key: string, handler: Handler): Promise<Template> {
  const templates = await ownTemplates(core, key);
  const sameName = templates.find((template) => template.name === handler.name);
  const free = !sameName || (sameName.readme === TEMPLATE_README && sameName.startCommand.at(-1) === handler.file);
  const name = free ? handler.name : distinctName(handler.name, handler.file);
  const wanted = Template.fromPartial({
    name,
    startCommand: handler.command,
    workingDirectory: dirname(handler.file),
    serverless: true,
    readme: TEMPLATE_README,
  });
  const existing = templates.find((template) => template.name === name);
  if (!existing)
    return (await core.templates.call((client) => client.createTemplate, { template: wanted }, by(key))).template!;
  // A template of an earlier release has the handler as its image name, which would be taken for an image.
  const same =
    existing.imageName === '' &&
    isDeepStrictEqual(existing.startCommand, wanted.startCommand) &&
    existing.workingDirectory === wanted.workingDirectory;
  if (same) return existing;
  const updateMask = ['image_name', 'start_command', 'working_directory', 'readme'];
  return (
    await core.templates.call(
      (client) => client.updateTemplate,
      { template: { ...wanted, id: existing.id }, updateMask },
      by(key),
    )
  ).template!;
}

function ownTemplates(core: CoreServices, key: string): Promise<Template[]> {
  const read = (page: PageRequest) =>
    core.templates.call((client) => client.listTemplates, { includePublic: false, ...page }, by(key));
  return allPages(read, (response) => response.templates);
}

/** Scales the endpoints of handlers that are not served in this run to zero. The endpoints stay. */
async function restOthers(
  core: CoreServices,
  key: string,
  endpoints: readonly Endpoint[],
  servedId: string | undefined,
): Promise<void> {
  const templates = await ownTemplates(core, key);
  const ours = new Set(
    templates.filter((template) => template.readme === TEMPLATE_README).map((template) => template.id),
  );
  for (const endpoint of endpoints) {
    if (endpoint.id === servedId || !ours.has(endpoint.templateId) || endpoint.workersMin === 0) continue;
    await setWorkers(core, key, endpoint, 0);
  }
}

async function setWorkers(core: CoreServices, key: string, endpoint: Endpoint, workersMin: number): Promise<void> {
  const changed = { ...endpoint, workersMin, workersMax: Math.max(endpoint.workersMax, WORKERS_MAX) };
  await core.endpoints.call(
    (client) => client.updateEndpoint,
    { endpoint: changed, updateMask: ['workers_min', 'workers_max'] },
    by(key),
  );
}

async function setExample(core: CoreServices, key: string, { id }: Endpoint, example: string): Promise<void> {
  const endpoint = Endpoint.fromPartial({ id, exampleInput: example });
  await core.endpoints.call((client) => client.updateEndpoint, { endpoint, updateMask: ['example_input'] }, by(key));
}
