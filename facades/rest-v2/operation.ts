/**
 * Operations of REST v2. One record describes an operation's route, input, response and handler. Routes, request checks
 * and the OpenAPI document are made from these records, so they cannot disagree.
 */

import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TObject, TSchema } from 'typebox';
import type { FacadeConfig } from '../config.ts';
import type { CoreClient } from '../core-client/core-client.ts';
import type { AnswerBudget } from '../plugins/limits/answer-budget.ts';
import type { BodyWork } from '../plugins/limits/body-work.ts';

/** Dependencies of operations. */
export interface RestV2Parts {
  core: Pick<
    CoreClient,
    | 'access'
    | 'endpoints'
    | 'templates'
    | 'volumes'
    | 'registryAuths'
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
  /** Statuses of errors besides those that follow from the other fields. */
  errors?: readonly number[];
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

/** Returns the options of a core call that is sent once. */
export function once({ apiKey }: Pick<Call, 'apiKey'>): { apiKey: string; repeatable: false } {
  return { apiKey, repeatable: false };
}
