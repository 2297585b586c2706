/** What the routes of the REST surface work with. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type {
  FastifyBaseLogger, FastifyInstance, onRequestAsyncHookHandler, preHandlerHookHandler, RawReplyDefaultExpression,
  RawRequestDefaultExpression, RawServerDefault,
} from 'fastify';
import { Type } from 'typebox';
import type { TSchema, TUnsafe } from 'typebox';
import type { Logger } from '../../core/runtime/logger.ts';
import { CoreError } from '../../proto/wire/reason.ts';
import type { FacadeConfig } from '../config.ts';
import type { CoreClient } from '../core-client/core-client.ts';
import { isId } from '../plugins/authenticate.ts';

/** An app whose handlers know the types of their schemas. */
export type RestApp = FastifyInstance<
  RawServerDefault, RawRequestDefaultExpression, RawReplyDefaultExpression, FastifyBaseLogger, TypeBoxTypeProvider
>;

/** Parts handed to every REST route. */
export interface RestParts {
  core: Pick<CoreClient, 'endpoints' | 'templates'>;
  config: FacadeConfig;
  logger: Logger;
  /** 401 before the body is read. */
  gate: onRequestAsyncHookHandler;
  /** Turns the raw body into `request.body`. */
  readJson: preHandlerHookHandler;
}

/** Body of every error (compat.md 3.10). */
export const RestError = Type.Object({
  message: Type.String(),
  error: Type.String(),
  status: Type.Integer(),
  code: Type.String(),
}, { $id: 'Error' });

/** A reference to a shape that was added to the app by its $id. */
export function ref<Shape>(id: string): TUnsafe<Shape> {
  return Type.Unsafe<Shape>({ $ref: `${id}#` });
}

/** Documented error answers. */
export function errors(...statuses: number[]): Record<number, TSchema> {
  const documented = (status: number): TSchema => Type.Unsafe({ $ref: 'Error#', description: ERROR_TEXT[status] });
  return Object.fromEntries([400, 401, ...statuses].map((status) => [status, documented(status)]));
}

/** An id of a path; anything that cannot be one does not exist and never reaches core. */
export function idOf(text: string, reason: 'ENDPOINT_NOT_FOUND' | 'TEMPLATE_NOT_FOUND'): string {
  if (!isId(text)) throw new CoreError(reason, `There is no such ${reason === 'ENDPOINT_NOT_FOUND' ? 'endpoint' : 'template'}.`);
  return text;
}

const ERROR_TEXT: Record<number, string> = {
  400: 'The request is malformed, or cannot be done as things stand.',
  401: 'The API key is wrong or lacks permission.',
  404: 'There is no such thing in the account.',
};
