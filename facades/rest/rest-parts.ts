/** Dependencies of the routes of the REST surface. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { Logger } from '@slipway/kit/log/logger';
import type { Reason } from '@slipway/proto/wire/reason';
import { CoreError } from '@slipway/proto/wire/reason';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  onRequestAsyncHookHandler,
  preHandlerAsyncHookHandler,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import type { TArray, TSchema, TUnsafe } from 'typebox';
import { Type } from 'typebox';
import type { FacadeConfig } from '../config.ts';
import type { CoreClient } from '../core-client/core-client.ts';
import { isId } from '../plugins/public-id.ts';
import { ignoredHeader } from './name-ignored.ts';
import type { ListBudget } from './send-list.ts';

/** An app whose handlers know the types of their schemas. */
export type RestApp = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** Dependencies of every REST route. */
export interface RestParts {
  core: Pick<
    CoreClient,
    'endpoints' | 'templates' | 'volumes' | 'registryAuths' | 'pods' | 'usage' | 'catalog' | 'pipelined'
  >;
  /** Budget of responses in several pages. */
  budget: ListBudget;
  config: FacadeConfig;
  logger: Logger;
  /** 401 before the body is read. */
  gate: onRequestAsyncHookHandler;
  /** Turns the raw body into `request.body`. */
  readJson: preHandlerAsyncHookHandler;
}

/** Body of every error (docs/reference/management.md#errors-of-rest). */
export const RestError = Type.Object(
  {
    message: Type.String({ description: 'What is wrong and what to do about it, for people. The wording may change.' }),
    error: Type.String({ description: 'The same text as message, because some clients read it here.' }),
    status: Type.Integer({ description: 'The HTTP status of the answer.' }),
    code: Type.String({
      description: 'Error code for programs, for instance name_taken. /docs/errors has the cause and the fix of each.',
    }),
  },
  { $id: 'Error' },
);

/** Returns a reference to a shape that was added to the app by its $id. */
export function ref<Shape>(id: string): TUnsafe<Shape> {
  return Type.Unsafe<Shape>({ $ref: `${id}#` });
}

/** Returns a documented response of one shape. */
export function answer<Shape>(id: string): TUnsafe<Shape> {
  return Type.Unsafe<Shape>({ $ref: `${id}#`, description: 'The resource as it is now.' });
}

/** Returns a documented response to a body. A header names the ignored members. */
export function changed<Shape>(id: string): TUnsafe<Shape> {
  return Type.Unsafe<Shape>({ ...answer<Shape>(id), headers: ignoredHeader });
}

/** Returns a documented response that is a bare list. */
export function answers<Shape>(id: string): TArray<TUnsafe<Shape>> {
  return Type.Array(ref<Shape>(id), { description: 'All that match the filters. Empty if there are none.' });
}

/**
 * Returns documented error responses: 400, 401, 429, 503 and `statuses`, for instance 404 if the path names a resource.
 */
export function errors(...statuses: number[]): Record<number, TSchema> {
  const documented = (status: number): TSchema => Type.Unsafe({ $ref: 'Error#', description: ERROR_TEXT[status] });
  return Object.fromEntries([400, 401, ...statuses, 429, 503].map((status) => [status, documented(status)]));
}

/** Resources that a path can name, and the error when there is none. */
const THINGS = {
  endpoint: 'ENDPOINT_NOT_FOUND',
  template: 'TEMPLATE_NOT_FOUND',
  pod: 'NOT_FOUND',
  'network volume': 'NOT_FOUND',
  'container registry auth': 'NOT_FOUND',
} satisfies Record<string, Reason>;

/** Returns an id of a path. An invalid id does not exist and never reaches core. */
export function idOf(text: string, thing: keyof typeof THINGS): string {
  if (!isId(text)) throw new CoreError(THINGS[thing], `There is no such ${thing}.`);
  return text;
}

const ERROR_TEXT: Record<number, string> = {
  400: 'The request is malformed, or the present state of the resource does not allow it.',
  401: 'The API key is missing or unknown, or has no permission for this.',
  404: 'The account has no such resource.',
  429: 'Too many requests. Try again after the seconds in Retry-After.',
  503: 'A part of the service is restarting. Try again after the seconds in Retry-After.',
};
