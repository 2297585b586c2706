/**
 * Fields of the hosted API for features that do not exist here. Clients request them with types that are not in the
 * schema. Each is rejected with an explanation.
 */

import type { DocumentNode, ExecutionResult } from 'graphql';
import { GraphQLError, Kind } from 'graphql';
import { rootFieldsOf } from './root-fields.ts';

const NO_HUB = 'there is no hub here; make a template of the image that you mean, and an endpoint of that.';
const NO_MODELS =
  'there is no repository of models here; name models of Hugging Face in modelReferences of an endpoint, or put the ' +
  'model into the image or a network volume.';
const NO_PUBLIC_ENDPOINTS =
  'there are no public endpoints here; the endpoints of your account are in myself { endpoints { id name } }.';
const NO_FLASH =
  'flash apps, their environments and builds do not exist here; make endpoints by saveEndpoint, or run flash ' +
  'with an image of your own.';

/** Sentences by field of Query and Mutation. */
const FOREIGN: Readonly<Record<string, string>> = {
  myModels: NO_MODELS,
  createModel: NO_MODELS,
  deleteModel: NO_MODELS,
  addModel: NO_MODELS,
  listing: NO_HUB,
  listings: NO_HUB,
  listingFromRepo: NO_HUB,
  allAiApiPublicConfigs: NO_PUBLIC_ENDPOINTS,
  flashAppByName: NO_FLASH,
  flashEnvironmentByName: NO_FLASH,
  flashAuthRequestStatus: NO_FLASH,
  createFlashApp: NO_FLASH,
  deleteFlashApp: NO_FLASH,
  createFlashEnvironment: NO_FLASH,
  deleteFlashEnvironment: NO_FLASH,
  createFlashAuthRequest: NO_FLASH,
  prepareFlashArtifactUpload: NO_FLASH,
  finalizeFlashArtifactUpload: NO_FLASH,
  deployBuildToEnvironment: NO_FLASH,
};
/** Fields that the hosted API answers without a key. */
const NEED_NO_KEY = new Set([
  'listing',
  'listings',
  'listingFromRepo',
  'allAiApiPublicConfigs',
  'createFlashAuthRequest',
  'flashAuthRequestStatus',
]);
/** The same for fields of `myself`. */
const FOREIGN_OF_ACCOUNT: Readonly<Record<string, string>> = {
  flashApps: NO_FLASH,
  models: NO_MODELS,
};

/** Returns whether a document asks only for foreign fields that need no key. */
export function needsNoKey(document: DocumentNode, operationName: string | undefined): boolean {
  return (rootFieldsOf(document, operationName) ?? []).every(({ name }) => NEED_NO_KEY.has(name.value));
}

/** Rejects a whole document that asks for such fields, before validation. Returns `undefined` if it asks for none. */
export function rejectForeignFields(
  document: DocumentNode,
  operationName: string | undefined,
): ExecutionResult | undefined {
  const fields = rootFieldsOf(document, operationName) ?? [];
  const faults = fields.flatMap(({ name, alias, selectionSet }) => {
    const sentence = FOREIGN[name.value];
    if (sentence !== undefined) return [{ path: [alias?.value ?? name.value], text: `${name.value}: ${sentence}` }];
    if (name.value !== 'myself') return [];
    return (selectionSet?.selections ?? []).flatMap((inner) => {
      const own = inner.kind === Kind.FIELD ? FOREIGN_OF_ACCOUNT[inner.name.value] : undefined;
      return own === undefined || inner.kind !== Kind.FIELD
        ? []
        : [{ path: [name.value, inner.name.value], text: `${inner.name.value}: ${own}` }];
    });
  });
  if (faults.length === 0) return undefined;
  const errors = faults.map(
    ({ path, text }) => new GraphQLError(text, { path, extensions: { code: 'RUNPOD', reason: 'INVALID_REQUEST' } }),
  );
  return { errors, data: Object.fromEntries(fields.map(({ name, alias }) => [alias?.value ?? name.value, null])) };
}
