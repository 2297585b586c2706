/**
 * Calls core from resolvers, through the in-context client that Mesh builds. Every error is thrown, because Mesh itself
 * returns Error objects.
 */

import { bytesOf } from '@slipway/proto/wire/answer-bytes';
import { CoreError, fromGrpcError } from '@slipway/proto/wire/reason';
import type { GraphQLResolveInfo } from 'graphql';
import { GraphQLError } from 'graphql';
import { publicError } from '../plugins/errors/public-error.ts';
import type { FieldNames } from '../plugins/public-names.ts';
import { GRAPHQL_NAMES, GRAPHQL_POD_NAMES, withPublicNames } from '../plugins/public-names.ts';
import type { FieldChanges } from '../resources/mask-fields.ts';
import { READS } from './core-grpc/core-schema.ts';
import type { CoreMessage } from './core-message.ts';
import type { LargeRead } from './large-reads.ts';

/** Context of an operation: set by the route, and extended by Mesh. */
export interface GraphqlContext {
  apiKey: string;
  accountId: string;
  /** Wall clock when the operation began, in milliseconds. */
  nowMs: number;
  /** True if the document selects environment variables of any object. */
  selectsEnv: boolean;
  /** Bytes of the environment variables in its answer so far; see `countVariables`. */
  variables: { bytes: number };
  /** Resolves in a tick of the event loop after that of the previous call, so that lists do not block it. */
  turn(): Promise<void>;
  /** Lists that this operation has read; see `once`. */
  reads: Map<string, Promise<unknown>>;
  /** Its turn for long lists. */
  large: LargeRead;
  Core: Record<'Query' | 'Mutation', Record<string, (options: MeshCall) => Promise<unknown>>>;
}

interface MeshCall {
  root: unknown;
  args: { input: unknown };
  context: GraphqlContext;
}

/** A resolver of the public schema. */
export type Resolver<Args = unknown, Root = unknown> = (
  root: Root,
  args: Args,
  context: GraphqlContext,
  info: GraphQLResolveInfo,
) => unknown;

/**
 * Makes a call of a service, for instance ('EndpointService', 'GetEndpoint'). Throws GraphQLError with the reason as
 * its code.
 */
export async function callCore<Response>(
  context: GraphqlContext,
  service: string,
  method: string,
  input: object,
): Promise<CoreMessage<Response>> {
  const reads = READS.test(method);
  const call = context.Core[reads ? 'Query' : 'Mutation'][`slipway_v1_${service}_${method}`];
  if (!call) throw new Error(`core has no ${service}.${method}`);
  const answer = await call({ root: {}, args: { input }, context }).catch((error: unknown) => error);
  // A later field of the same document must see the change.
  if (!reads) context.reads.clear();
  const names = service === 'PodService' ? GRAPHQL_POD_NAMES : GRAPHQL_NAMES;
  if (answer instanceof Error || answer === null || answer === undefined) throw toGraphqlError(answer, names);
  return answer as CoreMessage<Response>;
}

/**
 * Changes a resource, for instance ('VolumeService', 'NetworkVolume', 'networkVolume'): sets the fields of `mask` to
 * the values of `changes`. An empty mask is no error: the resource is returned unchanged.
 */
export function updateCore<Response>(
  context: GraphqlContext,
  [service, thing, field]: readonly [string, string, string],
  id: string,
  { changes, mask }: FieldChanges<object>,
): Promise<CoreMessage<Response>> {
  if (mask.length === 0) return callCore<Response>(context, service, `Get${thing}`, { id });
  return callCore<Response>(context, service, `Update${thing}`, {
    [field]: { ...changes, id },
    updateMask: { paths: mask },
  });
}

/** Most bytes of a list that are read without a turn, and most bytes of one list that an operation may hold. */
const WITHOUT_TURN_BYTES = 2 * 1024 * 1024;
const LIST_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Returns all entries of a list, for instance (['VolumeService', 'ListNetworkVolumes', 'networkVolumes'], {}). A list
 * of a few pages is read at once. An account reads one longer list at a time; pages that were read before its turn are
 * discarded.
 */
export async function listCore<Entry>(
  context: GraphqlContext,
  [service, method, field]: readonly [string, string, string],
  input: object,
): Promise<CoreMessage<Entry>[]> {
  let all: CoreMessage<Entry>[] = [];
  let pageToken = '';
  let bytes = 0;
  for (;;) {
    const request = { ...input, pageToken };
    const page = await context.large
      .page(pageToken !== '', () => callCore<Record<string, unknown>>(context, service, method, request))
      .catch((error: unknown) => {
        throw toGraphqlError(error);
      });
    const next = page['nextPageToken'] as string | undefined;
    bytes += bytesOf(page);
    if (next && bytes > WITHOUT_TURN_BYTES && (await waitedForTurn(context))) {
      [all, pageToken, bytes] = [[], '', 0];
      continue;
    }
    all.push(...((page[field] as CoreMessage<Entry>[] | undefined) ?? []));
    if (!next) return all;
    if (bytes > LIST_BYTES_MAX)
      throw refused(
        'The list is too long for one answer of this surface; the REST surface under /v1 writes it page by page.',
      );
    pageToken = next;
  }
}

async function waitedForTurn({ large }: GraphqlContext): Promise<boolean> {
  try {
    return await large.enter();
  } catch (error) {
    throw toGraphqlError(error);
  }
}

/** Reads something once for all fields of an operation that need it, however many there are. */
export function once<Value>(context: GraphqlContext, name: string, read: () => Promise<Value>): Promise<Value> {
  const known = context.reads.get(name) as Promise<Value> | undefined;
  if (known) return known;
  const reading = read();
  context.reads.set(name, reading);
  return reading;
}

/** Converts an error of a call to the form that clients get (docs/reference/management.md#graphql). */
export function toGraphqlError(error: unknown, names: FieldNames = GRAPHQL_NAMES): GraphQLError {
  if (error instanceof GraphQLError && error.extensions['reason'] !== undefined) return error;
  const known = publicError(fromGrpcError(thrown(error)));
  const extensions = { code: 'RUNPOD', reason: known.code.toUpperCase(), status: known.status };
  return new GraphQLError(withPublicNames(known.text, names), { extensions });
}

/** Returns the rejection of an input that has no meaning here. */
export function refused(text: string): GraphQLError {
  return toGraphqlError(new CoreError('INVALID_REQUEST', text));
}

/** Returns null if the resource does not exist, as clients expect of a query. All other errors are thrown. */
export async function orNull<Value>(read: Promise<Value>): Promise<Value | null> {
  try {
    return await read;
  } catch (error) {
    const { reason } = (error as { extensions?: { reason?: string } }).extensions ?? {};
    if (reason === 'ENDPOINT_NOT_FOUND' || reason === 'TEMPLATE_NOT_FOUND' || reason === 'NOT_FOUND') return null;
    throw error;
  }
}

/** Returns the error that a call threw, without the wrappers of Mesh and graphql-js. */
function thrown(error: unknown): unknown {
  let inner = error;
  while (inner instanceof GraphQLError && inner.originalError) inner = inner.originalError;
  return inner;
}
