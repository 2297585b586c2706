/** Facts about endpoints that REST v2 does not show. GraphQL has them as long as it lives. */

import { RejectedError, UnreachableError } from '../../failures.ts';
import type { Output } from '../../output/output.ts';
import type { SourceClient } from './source-client.ts';
import { recordOf } from './source-lists.ts';

/** Settings that REST v2 does not have: extensions of this service, which the hosted one does not answer. */
export const EXTENSIONS = [
  'retryLimit',
  'retryHandlerErrors',
  'durableBeforeRun',
  'workerConcurrency',
  'exampleInput',
] as const;

/** Their values, where the source has them. */
interface ExtensionSettings {
  retryLimit?: number;
  retryHandlerErrors?: boolean;
  durableBeforeRun?: boolean;
  workerConcurrency?: number;
  exampleInput?: string;
}

export interface EndpointOrigin {
  /** Template that the endpoint is linked to. Empty: none, or not known. */
  templateId: string;
  /** Repositories of cached models. */
  modelReferences: string[];
  settings: ExtensionSettings;
  /** Origins that do not exist here, for people. */
  origins: string[];
}

/** Fields that a source may lack are asked for first, and left out if it rejects them. */
const FIELDS = [
  `id templateId modelReferences ${EXTENSIONS.join(' ')}`,
  // Releases up to 0.3 lack this one.
  `id templateId modelReferences ${EXTENSIONS.filter((name) => name !== 'durableBeforeRun').join(' ')}`,
  'id templateId modelReferences hubReleaseId flashEnvironmentId',
  'id templateId modelReferences',
  'id templateId',
];

/** Reads the facts by endpoint. `undefined`: the source has no GraphQL, or does not answer this. */
export async function readOrigins(
  client: SourceClient,
  output: Output,
): Promise<ReadonlyMap<string, EndpointOrigin> | undefined> {
  output.progress('Reading GraphQL');
  try {
    for (const fields of FIELDS) {
      const endpoints = await ask(client, fields);
      if (endpoints) return new Map(endpoints.flatMap(extrasOf));
    }
  } catch (error) {
    // GraphQL only adds details: if it fails, the import notes that and continues.
    if (!(error instanceof UnreachableError)) throw error;
  }
  return undefined;
}

async function ask(client: SourceClient, fields: string): Promise<readonly unknown[] | undefined> {
  const answer = await client.query(`query { myself { endpoints { ${fields} } } }`).catch((error: unknown) => {
    if (!(error instanceof RejectedError)) throw error;
    return undefined;
  });
  if (!answer || 'absent' in answer) return undefined;
  const endpoints = recordOf(recordOf(recordOf(answer.body)?.['data'])?.['myself'])?.['endpoints'];
  return Array.isArray(endpoints) ? endpoints : undefined;
}

function extrasOf(entry: unknown): [string, EndpointOrigin][] {
  const fields = recordOf(entry) ?? {};
  const { id, templateId, modelReferences, hubReleaseId, flashEnvironmentId } = fields;
  if (typeof id !== 'string') return [];
  const origins = [
    ...(hubReleaseId ? ['it was made from the hub: its image must be pullable from here, or mirrored'] : []),
    ...(flashEnvironmentId ? ['it belongs to a flash app, which is not served here: deploy its code as a worker'] : []),
  ];
  const models = Array.isArray(modelReferences) ? modelReferences.filter((text) => typeof text === 'string') : [];
  const link = typeof templateId === 'string' ? templateId : '';
  return [[id, { templateId: link, modelReferences: models, settings: extensionsOf(fields), origins }]];
}

/** Returns the values that an entry of GraphQL or REST v1 has. */
export function extensionsOf(fields: Readonly<Record<string, unknown>>): ExtensionSettings {
  const { retryLimit, retryHandlerErrors, durableBeforeRun, workerConcurrency, exampleInput } = fields;
  return {
    ...(Number.isInteger(retryLimit) && { retryLimit: retryLimit as number }),
    ...(typeof retryHandlerErrors === 'boolean' && { retryHandlerErrors }),
    ...(typeof durableBeforeRun === 'boolean' && { durableBeforeRun }),
    ...(Number.isInteger(workerConcurrency) && { workerConcurrency: workerConcurrency as number }),
    ...(typeof exampleInput === 'string' && { exampleInput }),
  };
}

/** Returns the examples of templates by id. Empty if the source has none, or no GraphQL. */
export async function readTemplateExamples(client: SourceClient): Promise<ReadonlyMap<string, string>> {
  const answer = await client.query('query { myself { podTemplates { id exampleInput } } }').catch(unlessStopped);
  if (!answer || 'absent' in answer) return new Map();
  const templates = recordOf(recordOf(recordOf(answer.body)?.['data'])?.['myself'])?.['podTemplates'];
  if (!Array.isArray(templates)) return new Map();
  return new Map(
    templates.flatMap((entry): [string, string][] => {
      const { id, exampleInput } = recordOf(entry) ?? {};
      return typeof id === 'string' && typeof exampleInput === 'string' ? [[id, exampleInput]] : [];
    }),
  );
}

/** Throws any error but a rejection or an unreachable source. GraphQL only adds details, so the import continues. */
function unlessStopped(error: unknown): undefined {
  if (!(error instanceof RejectedError || error instanceof UnreachableError)) throw error;
}
