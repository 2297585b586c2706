/**
 * Releases of an endpoint in REST v2: its changes, and the progress of their rollouts. Also builds, of which there are
 * none.
 */

import type { Release } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { CoreError } from '@slipway/proto/wire/reason';
import { Type } from 'typebox';
import { ENDPOINT } from '../../resources/endpoints/endpoint-table.ts';
import { publicNames } from '../../resources/field.ts';
import { TEMPLATE } from '../../resources/templates/template-table.ts';
import type { Operation } from '../operation.ts';
import { operation, repeatable } from '../operation.ts';
import { answerPage, listOf, PageQuery } from '../pages.ts';
import { moment, named, textOrNull, word } from '../schema-parts.ts';
import { workersOf } from './workers.ts';

const ONE = '/v2/serverless/{endpointId}';
const TAG = { tag: 'serverless' };
const TEMPLATE_PREFIX = 'template.';
/** Id of the last release of a page; empty before the first page. */
const RELEASE_ID = /^\d{0,15}$/;

const valueOrNull = Type.Unsafe<unknown>({
  description: 'Null: it had none, or it is a secret, or too long, or the change is of an earlier release.',
});
const ReleaseShape = named(
  'Release',
  Type.Object({
    id: Type.String(),
    version: Type.Integer({ description: 'Version of the endpoint after the change.' }),
    source: word(['MANUAL']),
    buildId: textOrNull('Always null.'),
    createdByUserId: textOrNull('Id of the API key that was used.'),
    workerCount: Type.Integer({ description: 'Number of workers that run it now.' }),
    createdAt: moment('When.'),
    diff: Type.Array(
      Type.Object({
        field: Type.String({ description: 'Name of the setting in GraphQL.' }),
        old: valueOrNull,
        new: valueOrNull,
      }),
    ),
  }),
);
const Rollout = named(
  'RolloutSummary',
  Type.Object({
    inProgress: Type.Boolean(),
    workersOnLatest: Type.Integer(),
    workersTotal: Type.Integer(),
    percentOnLatest: Type.Integer({ minimum: 0, maximum: 100 }),
  }),
);
const Releases = listOf('releases', ReleaseShape, 'Newest first.');
const Build = named('Build', Type.Object({ id: Type.String() }));

/** The operations. */
export const releaseOperations: readonly Operation[] = [
  operation({
    ...TAG,
    id: 'ListEndpointReleases',
    method: 'GET',
    path: `${ONE}/releases`,
    summary: 'List the changes of an endpoint, the newest first',
    query: Type.Object({ ...PageQuery.properties }),
    status: 200,
    answer: named(
      'ListEndpointReleasesResponse',
      Type.Object({ endpointVersion: Type.Integer(), rollout: Rollout, ...Releases.properties }),
    ),
    handle: async (call, parts) => {
      const endpointId = call.path['endpointId']!;
      const { endpoint } = await parts.core.endpoints.call(
        (client) => client.getEndpoint,
        { id: endpointId },
        repeatable(call),
      );
      const { version } = endpoint!;
      const workers = (await workersOf(call, parts, endpointId)).filter(({ state }) => state !== WorkerState.UNHEALTHY);
      const latest = workers.filter((worker) => worker.version === version).length;
      const page = await answerPage(call, `ListEndpointReleases ${endpointId}`, 'releases', {
        read: async ({ pageSize, pageToken }) => {
          if (!RELEASE_ID.test(pageToken)) throw new CoreError('INVALID_REQUEST', 'page_token is no id of a release');
          const asked = { endpointId, pageSize, beforeId: Number(pageToken) || 0 };
          const { releases } = await parts.core.endpoints.call(
            (client) => client.listReleases,
            asked,
            repeatable(call),
          );
          return { releases, nextPageToken: releases.length < pageSize ? '' : String(releases.at(-1)!.id) };
        },
        present: ({ releases }) =>
          releases.map((release) =>
            presentRelease(release, workers.filter((worker) => worker.version === release.version).length),
          ),
      });
      const rollout = {
        inProgress: latest < workers.length,
        workersOnLatest: latest,
        workersTotal: workers.length,
        percentOnLatest: workers.length === 0 ? 100 : Math.floor((100 * latest) / workers.length),
      };
      return { endpointVersion: version, rollout, ...page };
    },
  }),
  operation({
    ...TAG,
    id: 'ListEndpointBuilds',
    method: 'GET',
    path: `${ONE}/builds`,
    summary: 'List builds (always empty: images come from registries)',
    query: Type.Object({ ...PageQuery.properties }),
    status: 200,
    answer: named('ListBuildsResponse', listOf('builds', Build, 'Always empty.')),
    handle: async (call, { core }) => {
      await core.endpoints.call((client) => client.getEndpoint, { id: call.path['endpointId']! }, repeatable(call));
      return answerPage(call, 'ListEndpointBuilds', 'builds', {
        read: async () => ({ nextPageToken: '' }),
        present: () => [],
      });
    },
  }),
  ...['', '/logs'].map((of) =>
    operation({
      ...TAG,
      id: of === '' ? 'GetEndpointBuild' : 'GetEndpointBuildLogs',
      method: 'GET',
      path: `${ONE}/builds/{buildId}${of}`,
      summary: 'Not available: there are no builds',
      status: 200,
      answer: Build,
      handle: async () => {
        throw new CoreError('NOT_FOUND', 'There is no such build: images come from registries here.');
      },
    }),
  ),
];

const NAMES = publicNames(ENDPOINT, 'graphql');
const TEMPLATE_NAMES = publicNames(TEMPLATE, 'graphql');

function presentRelease({ id, version, keyId, time, action, fields, values }: Release, workerCount: number): object {
  const diff = fields.map((field) => {
    const { oldJson, newJson } = values.find((value) => value.field === field) ?? {};
    return {
      field: action === 'UpdateTemplate' ? ofTemplate(field) : nameOf(field),
      old: valueOf(oldJson),
      new: valueOf(newJson),
    };
  });
  return {
    id: String(id),
    version,
    source: 'MANUAL',
    buildId: null,
    createdByUserId: keyId || null,
    workerCount,
    createdAt: time?.toISOString(),
    diff,
  };
}

function valueOf(json: string | undefined): unknown {
  return json === undefined ? null : JSON.parse(json);
}

function nameOf(field: string): string {
  return field.startsWith(TEMPLATE_PREFIX) ? ofTemplate(field.slice(TEMPLATE_PREFIX.length)) : (NAMES[field] ?? field);
}

function ofTemplate(field: string): string {
  return `${TEMPLATE_PREFIX}${TEMPLATE_NAMES[field] ?? field}`;
}
