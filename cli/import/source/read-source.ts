/** Reads an account at the source: REST v2, or REST v1 where there is no v2, and GraphQL for what neither shows. */

import { RejectedError } from '../../failures.ts';
import type { Output } from '../../output/output.ts';
import type { EndpointOrigin } from './endpoint-origins.ts';
import { readOrigins, readTemplateExamples } from './endpoint-origins.ts';
import type { SourceClient } from './source-client.ts';
import type { SourceList, SourceRow } from './source-lists.ts';
import { readArray, readList, recordOf, textsOf } from './source-lists.ts';
import { endpointOfV1, extrasOfV1, podOfV1, templateOfV1, volumeOfV1 } from './v1-rows.ts';

/** Lists of an account. Their entries have the members of REST v2. */
type SourceKind = 'endpoints' | 'templates' | 'volumes' | 'registries' | 'secrets' | 'pods';

/** Everything that was read. */
export interface SourceAccount extends Record<SourceKind, SourceRow[]> {
  /** Surface that the lists are from. */
  surface: 'v2' | 'v1';
  sshKeys: string[];
  /** Facts about endpoints that REST v2 does not show, by id. `undefined`: they could not be read. */
  extras: ReadonlyMap<string, EndpointOrigin> | undefined;
  /** Lists that could not be read, with the reason, for people. */
  unread: string[];
}

const V2_LISTS: Readonly<Record<SourceKind, { path: string; key: string; what: string }>> = {
  endpoints: { path: '/v2/serverless', key: 'endpoints', what: 'endpoints' },
  templates: { path: '/v2/templates', key: 'templates', what: 'templates' },
  volumes: { path: '/v2/network-volumes', key: 'networkVolumes', what: 'network volumes' },
  registries: { path: '/v2/registries', key: 'registries', what: 'registry credentials' },
  secrets: { path: '/v2/account/secrets', key: 'secrets', what: 'secrets' },
  pods: { path: '/v2/pods', key: 'pods', what: 'pods' },
};

/** Reads the account. Throws RejectedError, UnreachableError or InterruptedError, with texts for people. */
export async function readSource(client: SourceClient, output: Output): Promise<SourceAccount> {
  const first = await readList(client, output, V2_LISTS.endpoints);
  // A key that may not read endpoints is reported as such: another surface would not let it either.
  const account =
    first.unread === undefined || first.unread.includes('(403)')
      ? await readV2(client, output, first)
      : await readV1(client, output, first.unread);
  const extras = await readOrigins(client, output);
  if (extras === undefined && account.surface === 'v2')
    account.unread.push('GraphQL: links to templates, cached models, hub and flash origins of endpoints are not known');
  if (extras !== undefined && account.surface === 'v2') {
    const examples = await readTemplateExamples(client);
    account.templates = account.templates.map((row) => withExample(row, examples.get(row.id)));
  }
  output.clearProgress();
  return { ...account, extras: extras ?? account.extras };
}

async function readV2(client: SourceClient, output: Output, endpoints: SourceList): Promise<SourceAccount> {
  const account = emptyAccount('v2');
  take(account, 'endpoints', endpoints);
  for (const kind of ['templates', 'volumes', 'registries', 'secrets', 'pods'] as const)
    take(account, kind, await readList(client, output, V2_LISTS[kind]));
  const keys = await client.get('/v2/account/ssh-keys');
  if ('absent' in keys) account.unread.push(`SSH keys: status ${keys.absent}`);
  else account.sshKeys = textsOf(recordOf(keys.body)?.['keys']);
  return account;
}

async function readV1(client: SourceClient, output: Output, whyNotV2: string): Promise<SourceAccount> {
  const endpoints = await readArray(client, output, '/v1/endpoints?includeTemplate=true');
  if (endpoints.unread !== undefined)
    throw new RejectedError(
      `${client.origin} has neither REST v2 (${whyNotV2}) nor v1 (${endpoints.unread}). Is it the right address?`,
    );
  const account = emptyAccount('v1');
  account.extras = new Map(endpoints.rows.map((row) => [row.id, extrasOfV1(row)]));
  take(account, 'endpoints', { ...endpoints, rows: endpoints.rows.map(endpointOfV1) });
  const templates = await readArray(client, output, '/v1/templates');
  take(account, 'templates', { ...templates, rows: templates.rows.map(templateOfV1) });
  const volumes = await readArray(client, output, '/v1/networkvolumes');
  take(account, 'volumes', { ...volumes, rows: volumes.rows.map(volumeOfV1) });
  take(account, 'registries', await readArray(client, output, '/v1/containerregistryauth'));
  const pods = await readArray(client, output, '/v1/pods');
  take(account, 'pods', { ...pods, rows: pods.rows.map(podOfV1) });
  account.unread.push('secrets and SSH keys: REST v1 does not show them');
  return account;
}

function emptyAccount(surface: 'v2' | 'v1'): SourceAccount {
  const lists = { endpoints: [], templates: [], volumes: [], registries: [], secrets: [], pods: [] };
  return { surface, ...lists, sshKeys: [], extras: undefined, unread: [] };
}

function take(account: SourceAccount, kind: SourceKind, { rows, unread, malformed }: SourceList): void {
  // An entry may come twice if the list changes while it is read.
  account[kind] = [...new Map(rows.map((row) => [row.id, row])).values()];
  if (unread !== undefined) account.unread.push(`${V2_LISTS[kind].what}: ${unread}`);
  if (malformed > 0) account.unread.push(`${V2_LISTS[kind].what}: ${malformed} without a usable id or name`);
}

function withExample(row: SourceRow, exampleInput: string | undefined): SourceRow {
  return exampleInput === undefined ? row : { ...row, fields: { ...row.fields, exampleInput } };
}
