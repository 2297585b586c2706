/** Holds everything that the creation of a resource depends on. */

import { HttpRejection } from '@slipway/facades/plugins/errors/http-rejection';
import { CoreError } from '@slipway/proto/wire/reason';
import type { EndpointOrigin } from './source/endpoint-origins.ts';
import type { SourceRow } from './source/source-lists.ts';
import type { TargetAccount } from './target-account.ts';

/** A resource cannot be created as things are. The text says what to do. */
export class WaitingError extends Error {}

/** Returns why a resource cannot be created, for people. Throws errors that are none of these reasons. */
export function explainWait(error: unknown): string {
  if (error instanceof HttpRejection || error instanceof CoreError) return error.message.replaceAll('$.', '');
  if (error instanceof WaitingError) return error.message;
  throw error;
}

/** Ids here of resources that others refer to, by their ids at the source. */
interface IdMapping {
  registries: Map<string, string>;
  volumes: Map<string, string>;
  templates: Map<string, string>;
}

export interface ImportContext {
  /** Address of the source. */
  origin: string;
  target: TargetAccount;
  references: IdMapping;
  /** Names of data centres, GPU pools and GPU types of the source, by what they are called here. */
  mapping: Readonly<Record<string, string>>;
  /** Names of registry credentials and network volumes of the source, by their ids. */
  names: ReadonlyMap<string, string>;
  /** Templates of the source, by their ids. */
  templates: ReadonlyMap<string, SourceRow>;
  extras: ReadonlyMap<string, EndpointOrigin> | undefined;
}

const WORDS: Record<keyof IdMapping, string> = {
  registries: 'registry credentials',
  volumes: 'network volume',
  templates: 'template',
};

/** Returns the id here of a resource that another needs. Throws WaitingError if there is none. */
export function referenceTo(
  { references, names }: Pick<ImportContext, 'references' | 'names'>,
  kind: keyof IdMapping,
  sourceId: string,
): string {
  const here = references[kind].get(sourceId);
  if (here !== undefined) return here;
  throw new WaitingError(`needs the ${WORDS[kind]} ${names.get(sourceId) ?? sourceId}`);
}
