/**
 * Operations of REST v2. One record describes an operation's route, input, response and handler. Routes, request checks
 * and the OpenAPI document are made from these records, so they cannot disagree.
 */

import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TObject, TSchema } from 'typebox';
import type { FacadeConfig } from '../config.ts';
import type { CoreClient } from '../core-client/core-client.ts';
import type { CreationCall } from '../plugins/idempotency-key.ts';
import { creationCall } from '../plugins/idempotency-key.ts';
import type { AnswerBudget } from '../plugins/limits/answer-budget.ts';
import type { BodyWork } from '../plugins/limits/body-work.ts';
import { misfit } from './rejections.ts';

/** Dependencies of operations. */
export interface RestV2Parts {
  core: Pick<
    CoreClient,
    | 'access'
    | 'endpoints'
    | 'templates'
    | 'volumes'
    | 'registryAuths'
    | 'secrets'
    | 'machines'
    | 'pods'
    | 'usage'
    | 'catalog'
    | 'pipelined'
  >;
  answers: AnswerBudget;
  bodies: BodyWork;
  config: FacadeConfig;
  clock: Clock;
  logger: Logger;
}

/** One validated request. */
export interface Call<Query = object, Body = undefined> {
  request: FastifyRequest;
  reply: FastifyReply;
  /** Ids of the path, each in the form of an id. */
  path: Readonly<Record<string, string>>;
  query: Query;
  body: Body;
  apiKey: string;
  accountId: string;
}

/** Content type of a response that is not JSON. The handler writes it itself. */
type OtherAnswer = { contentType: string };

/** An operation. */
export interface Operation<Query extends TObject = TObject, Body extends TSchema = TSchema> {
  /** Unique id, as client generators require. */
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path, with ids as `{id}`. */
  path: string;
  tag: string;
  summary: string;
  query?: Query;
  /** The handler checks the query itself and responds with 400. */
  checksQuery?: true;
  body?: Body;
  /** Status and body of success. Without `answer` the body is empty, or `other`. */
  status: 200 | 201 | 204 | 501;
  answer?: TSchema;
  /** Success may also be 204 without a body. */
  mayAnswer204?: true;
  other?: OtherAnswer;
  /** Statuses of errors that do not follow from the other fields. */
  errors?: readonly number[];
  /** The operation creates a resource and takes an Idempotency-Key. */
  creates?: true;
  /** The operation needs no key. */
  open?: true;
  /** The route is added elsewhere. */
  describedOnly?: true;
  handle(call: Call<Static<Query>, Static<Body>>, parts: RestV2Parts): Promise<unknown>;
}

/** Declares an operation whose handler knows the types of its input. */
export function operation<Query extends TObject, Body extends TSchema>(described: Operation<Query, Body>): Operation {
  return described as unknown as Operation;
}

/** Returns the options of a core call that changes nothing or may be repeated. */
export function repeatable({ apiKey }: Pick<Call, 'apiKey'>): { apiKey: string; repeatable: true } {
  return { apiKey, repeatable: true };
}

/** Returns the request id and the options of the core call of a creation. 422: the Idempotency-Key cannot be one. */
export function creation({ request }: Pick<Call, 'request'>): CreationCall {
  try {
    return creationCall(request);
  } catch (error) {
    throw error instanceof CoreError ? misfit([error.message]) : error;
  }
}

/** Returns the options of a core call that is sent once. */
export function once({ apiKey }: Pick<Call, 'apiKey'>): { apiKey: string; repeatable: false } {
  return { apiKey, repeatable: false };
}
