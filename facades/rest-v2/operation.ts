/**
 * What an operation of REST v2 is: one record that says how it is called, what it takes and answers, and what it does.
 * Routes, checks of requests and the OpenAPI document are made from these records, so that they cannot disagree.
 */

import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TObject, TSchema } from 'typebox';
import type { FacadeConfig } from '../config.ts';
import type { CoreClient } from '../core-client/core-client.ts';
import type { AnswerBudget } from '../plugins/limits/answer-budget.ts';
import type { BodyWork } from '../plugins/limits/body-work.ts';

/** Parts that operations work with. */
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

/** One request, checked. */
export interface Call<Query = object, Body = undefined> {
  request: FastifyRequest;
  reply: FastifyReply;
  /** Ids of the path, each of the form of one. */
  path: Readonly<Record<string, string>>;
  query: Query;
  body: Body;
  apiKey: string;
  accountId: string;
}

/** Responses that are not JSON: the handler writes them itself. */
type OtherAnswer = { contentType: string };

/** An operation. */
export interface Operation<Query extends TObject = TObject, Body extends TSchema = TSchema> {
  /** Unique, as generators of clients want it. */
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With ids as `{id}`. */
  path: string;
  tag: string;
  summary: string;
  query?: Query;
  /** Its handler checks the query, and answers 400. */
  checksQuery?: true;
  body?: Body;
  /** Status of success, and what is answered then. Without `answer`: nothing, or `other`. */
  status: 200 | 201 | 204 | 501;
  answer?: TSchema;
  /** A second success without a body. */
  mayAnswer204?: true;
  other?: OtherAnswer;
  /** Statuses of errors besides those that follow from the rest. */
  errors?: readonly number[];
  /** It needs no key. */
  open?: true;
  /** Its route is added elsewhere. */
  describedOnly?: true;
  handle(call: Call<Static<Query>, Static<Body>>, parts: RestV2Parts): Promise<unknown>;
}

/** Describes an operation, whose handler knows the types of what it takes. */
export function operation<Query extends TObject, Body extends TSchema>(described: Operation<Query, Body>): Operation {
  return described as unknown as Operation;
}

/** Options of a call of core that changes nothing, or may be repeated. */
export function repeatable({ apiKey }: Pick<Call, 'apiKey'>): { apiKey: string; repeatable: true } {
  return { apiKey, repeatable: true };
}

/** Options of a call of core that is sent once. */
export function once({ apiKey }: Pick<Call, 'apiKey'>): { apiKey: string; repeatable: false } {
  return { apiKey, repeatable: false };
}
