/**
 * POST /graphql (docs/reference/management.md#graphql): takes the key from the query or the header, bounds the
 * document, and returns errors in the form that clients expect.
 */

import { Readable } from 'node:stream';
import type { Logger } from '@slipway/kit/log/logger';
import type { ErrorCode, GraphqlCode } from '@slipway/kit/net/error-help';
import { helpAddress } from '@slipway/kit/net/help-link';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { ExecutionResult, GraphQLError } from 'graphql';
import type { GateParts, KeylessRate } from '../plugins/authenticate.ts';
import { graphqlGate, keyMissing } from '../plugins/authenticate.ts';
import { isPlainObject, parseSettings } from '../plugins/bodies/json-body.ts';
import { bodyBytes } from '../plugins/bodies/raw-body.ts';
import type { ErrorShape } from '../plugins/errors/error-handler.ts';
import { handleErrors } from '../plugins/errors/error-handler.ts';
import type { AnswerBudget } from '../plugins/limits/answer-budget.ts';
import type { BodyWork } from '../plugins/limits/body-work.ts';
import { answerText, isSmallAnswer } from './answer-text.ts';
import type { GraphqlRequest } from './documents.ts';
import type { GraphqlExecutor } from './executor.ts';
import { InvalidDocument } from './invalid-document.ts';
import { SharedReads } from './shared-reads.ts';
import { withoutValue } from './variable-fault.ts';

/** Largest body in bytes. Bodies are documents and settings, not payloads. */
const BODY_BYTES_MAX = 1024 * 1024;

/** Matches a lone surrogate in JSON text: JSON.stringify escapes only those. */
const HALF_CHARACTER = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;

/** Response to a client. Requests that share a read get the same object. */
interface Answer {
  /** HTTP status. */
  status: number;
  /** JSON, in pieces. */
  body: readonly Buffer[];
}

/** Bytes that each answer occupies in the queue of answers that are written in slices. */
const SLICED_BYTES = 256 * 1024;

/** Dependencies of the route. */
interface GraphqlParts {
  executor: GraphqlExecutor;
  answers: AnswerBudget;
  bodies: BodyWork;
  gate: GateParts;
  /** Rate limit of requests without a key. */
  keyless: KeylessRate;
  logger: Logger;
}

/** Shape of errors that occur before a document runs. */
const graphqlErrorShape: ErrorShape = ({ text, code }) => ({
  errors: [{ message: text, extensions: { code: code.toUpperCase(), help: helpAddress(code) } }],
  data: null,
});

/** Adds the route. */
export async function graphqlRoutes(app: FastifyInstance, parts: GraphqlParts): Promise<void> {
  const { executor, answers, bodies, gate, keyless, logger } = parts;
  handleErrors(app, graphqlErrorShape, logger);
  const shared = new SharedReads<Answer>();
  app.post('/graphql', { onRequest: graphqlGate(gate, keyless, BODY_BYTES_MAX) }, async (request, reply) => {
    const { apiKey, accountId } = request.caller;
    const isKeyless = apiKey === '';
    const bytes = bodyBytes(request.body);
    await bodies.turn('management', request, reply, bytes.length);
    const read = async (): Promise<GraphqlRequest> =>
      readRequest(await bodies.run(accountId, bytes.length, parseSettings(bytes)));
    const asked = await read().catch((error: unknown) => {
      throw isKeyless ? keyMissing() : error;
    });
    const key = JSON.stringify([apiKey, textOf(asked)]);
    try {
      const { reads, isPublic, run } = await executor.prepare(asked);
      if (isKeyless && !isPublic) throw keyMissing();
      const rest = async (tookMs: number): Promise<void> => gate.rateLimit?.rest(accountId, tookMs);
      const answer = async (isWanted: () => boolean): Promise<Answer> => {
        const [status, body] = answerOf(await run({ apiKey, accountId, rest, isWanted }), request.id, logger);
        // The answer to a change is never refused: the client would repeat the change.
        if (!reads || isSmallAnswer(body)) return serialized(status, body);
        return { status, body: await bodies.run(accountId, SLICED_BYTES, answerText(body)) };
      };
      if (!reads) return send(reply, await answer(() => true));
      const readOnce = (): Promise<Answer> => shared.run(key, answer, () => !reply.raw.closed);
      return send(reply, (await answers.hold(request, reply, { read: readOnce, bytesOf: bytesOfAnswer })).answer);
    } catch (error) {
      if (!(error instanceof InvalidDocument)) throw error;
      if (isKeyless) throw keyMissing();
      const extensions = extensionsOf('GRAPHQL_VALIDATION_FAILED');
      return send(
        reply,
        serialized(400, { errors: error.errors.map(({ message, locations }) => ({ message, locations, extensions })) }),
      );
    }
  });
}

function readRequest(body: Record<string, unknown>): GraphqlRequest {
  const { query, variables, operationName } = body;
  if (typeof query !== 'string')
    throw new CoreError('INVALID_REQUEST', 'The body must have a member "query" that is a string.');
  if (variables !== undefined && variables !== null && !isPlainObject(variables))
    throw new CoreError('INVALID_REQUEST', '"variables" must be an object.');
  const named = operationName !== undefined && operationName !== null;
  if (named && typeof operationName !== 'string')
    throw new CoreError('INVALID_REQUEST', '"operationName" must be a string.');
  return { query, variables: variables ?? undefined, operationName: named ? (operationName as string) : undefined };
}

/**
 * Returns the whole request as one text. Throws INVALID_REQUEST if it is nested too deeply, or contains a lone
 * surrogate, which cannot be sent to core.
 */
function textOf(asked: GraphqlRequest): string {
  let text: string;
  try {
    text = JSON.stringify(asked);
  } catch (error) {
    throw new CoreError('INVALID_REQUEST', 'The variables are nested too deep.', { cause: error });
  }
  if (HALF_CHARACTER.test(text))
    throw new CoreError('INVALID_REQUEST', 'A text has half of a surrogate pair, which is no character.');
  return text;
}

/**
 * Returns the status and the body of the response to a result. A missing permission fails the whole request with 401
 * (docs/reference/api.md#keys). Variables that do not fit the document fail it with 400, because nothing ran. All other
 * errors belong to their field. `errors` is absent on success.
 */
function answerOf(result: ExecutionResult, requestId: string, logger: Logger): [status: number, body: object] {
  const { data, errors = [] } = result;
  if (errors.length === 0) return [200, { data }];
  const unauthorized = errors.some((error) => error.extensions['reason'] === 'UNAUTHORIZED');
  if (data === undefined) return [400, { errors: errors.map(variableFault), data: null }];
  const shown = errors.map((error) => presentError(error, requestId, logger));
  return [unauthorized ? 401 : 200, { errors: shown, data }];
}

function variableFault({ message, locations }: GraphQLError): object {
  return { message: withoutValue(message), locations, extensions: extensionsOf('BAD_USER_INPUT') };
}

function presentError(error: GraphQLError, requestId: string, logger: Logger): object {
  const { code, reason } = error.extensions;
  const shown = { message: error.message, path: error.path, locations: error.locations };
  if (reason !== undefined) {
    const help = helpAddress(String(reason).toLowerCase() as ErrorCode);
    return { ...shown, extensions: { code, reason, help } };
  }
  // An error without an original error is the client's: a value that does not fit. All others are internal, and their
  // text is not sent.
  if (error.originalError === undefined) return { ...shown, extensions: extensionsOf('BAD_USER_INPUT') };
  logger.error({ err: error.originalError, requestId, path: error.path }, 'a GraphQL field failed');
  return {
    ...shown,
    message: 'Something went wrong. Please try again later or contact support.',
    extensions: extensionsOf('INTERNAL_SERVER_ERROR'),
  };
}

function extensionsOf(code: GraphqlCode): object {
  return { code, help: helpAddress(code) };
}

function serialized(status: number, body: object): Answer {
  return { status, body: [Buffer.from(JSON.stringify(body))] };
}

function bytesOfAnswer({ body }: Answer): number {
  return body.reduce((sum, piece) => sum + piece.length, 0);
}

function send(reply: FastifyReply, answer: Answer): FastifyReply {
  const { status, body } = answer;
  reply.code(status).header('content-type', 'application/json; charset=utf-8');
  if (body.length === 1) return reply.send(body[0]);
  return reply.header('content-length', bytesOfAnswer(answer)).send(Readable.from(body, { objectMode: false }));
}
