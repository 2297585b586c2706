/** The OpenAPI 3.1 document of REST v2, made from the same records as its routes. */
import { IDEMPOTENCY_KEY_LENGTH_MAX } from '@slipway/proto/wire/limits';
import type { TObject, TSchema } from 'typebox';
import type { Operation } from '../operation.ts';
import { nameOf } from '../schema-parts.ts';
import { problem } from './problem.ts';
import { TAGS } from './tags.ts';

type Json = Record<string, unknown>;

const ERROR_TEXT: Readonly<Record<number, string>> = {
  400: 'Members of the body contradict each other or another resource, or the body is no JSON object.',
  401: 'The API key is missing or unknown.',
  403: 'The API key has no permission for this.',
  404: 'The account has no such resource.',
  409: 'The state of the resource does not allow it.',
  422: 'The request does not match its schema. `errors` lists each fault.',
  429: 'Too many requests. Try again after the seconds in Retry-After.',
  501: 'The service has no such operation.',
  503: 'A part of the service is restarting. Try again after the seconds in Retry-After.',
};
const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Makes the creation safe to repeat: the same key and body return what the first request created, for 24 hours.',
  schema: { type: 'string', minLength: 1, maxLength: IDEMPOTENCY_KEY_LENGTH_MAX },
};
const RATE_HEADERS = ['RateLimit', 'RateLimit-Policy'];

/** Returns the document. */
export function describe(operations: readonly Operation[]): Json {
  const schemas: Json = {};
  const paths: Record<string, Json> = {};
  const shown = (schema: TSchema): unknown => show(schema, schemas);
  for (const each of operations) (paths[each.path] ??= {})[each.method.toLowerCase()] = describeOperation(each, shown);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Slipway REST v2',
      version: '2.0.0',
      description:
        'Manages endpoints, pods, templates, network volumes and registry credentials. Jobs are sent ' +
        'to /v2/{endpoint_id}.',
    },
    servers: [{ url: '/', description: 'This service' }],
    tags: TAGS,
    security: [{ bearerAuth: [] }],
    paths,
    components: {
      securitySchemes: { bearerAuth: { type: 'http', scheme: 'bearer', description: 'An API key of the account.' } },
      headers: {
        RateLimit: {
          description: 'Requests that are left of each rate limit (RFC 9651). Absent: there is no limit.',
          schema: { type: 'string' },
        },
        'RateLimit-Policy': {
          description: 'The rate limits (RFC 9651). Absent: there is no limit.',
          schema: { type: 'string' },
        },
      },
      schemas,
    },
  };
}

function describeOperation(operation: Operation, shown: (schema: TSchema) => unknown): Json {
  const { id, tag, summary, query, body, open } = operation;
  const parameters = [
    ...pathParameters(operation.path),
    ...queryParameters(query, shown),
    ...(operation.creates ? [IDEMPOTENCY_KEY] : []),
  ];
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(open && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: { 'application/json': { schema: shown(body) } } } }),
    responses: responsesOf(operation, shown),
  };
}

function responsesOf(operation: Operation, shown: (schema: TSchema) => unknown): Json {
  const { status, answer, other, mayAnswer204, open } = operation;
  const headers = open
    ? {}
    : { headers: Object.fromEntries(RATE_HEADERS.map((name) => [name, { $ref: `#/components/headers/${name}` }])) };
  const json = answer ? { content: { 'application/json': { schema: shown(answer) } } } : {};
  const content = other ? { content: { [other.contentType]: { schema: { type: 'string' } } } } : json;
  const success =
    status === 501
      ? {}
      : { [status]: { description: status === 204 ? 'Done.' : 'The resource as it is now.', ...headers, ...content } };
  const failures = statusesOf(operation).map((failure) => [
    failure,
    {
      description: ERROR_TEXT[failure],
      ...headers,
      content: { 'application/problem+json': { schema: shown(problem) } },
    },
  ]);
  const gone = mayAnswer204 && { 204: { description: 'Done. The answer has no body.', ...headers } };
  return { ...success, ...gone, ...Object.fromEntries(failures) };
}

/** Returns the error statuses that an operation may respond with. */
function statusesOf({ path, query, checksQuery, body, open, errors = [], status }: Operation): number[] {
  if (open) return [];
  if (status === 501) return [401, 403, 429, 501, 503];
  const own = [
    401,
    403,
    429,
    503,
    ...errors,
    ...(path.includes('{') ? [404] : []),
    ...((query && !checksQuery) || body ? [422] : []),
    ...(checksQuery || body ? [400] : []),
  ];
  return [...new Set(own)].sort((a, b) => a - b);
}

function pathParameters(path: string): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', minLength: 1 },
  }));
}

function queryParameters(query: TObject | undefined, shown: (schema: TSchema) => unknown): Json[] {
  const required = new Set((query as { required?: string[] } | undefined)?.required);
  return Object.entries(query?.properties ?? {}).map(([name, schema]) => {
    const { description, ...rest } = shown(schema as TSchema) as Json;
    const isList = rest['type'] === 'array';
    return {
      name,
      in: 'query',
      required: required.has(name),
      description,
      schema: rest,
      ...(isList && { style: 'form', explode: false }),
    };
  });
}

/** Returns a schema for the document. A named schema appears once, among the components. */
function show(schema: unknown, schemas: Json): unknown {
  if (Array.isArray(schema)) return schema.map((each) => show(each, schemas));
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = (): Json =>
    Object.fromEntries(Object.entries(schema).map(([member, value]) => [member, show(value, schemas)]));
  const name = nameOf(schema);
  if (name === undefined) return inner();
  if (!Object.hasOwn(schemas, name)) {
    // Before its members, which may refer to it.
    schemas[name] = {};
    schemas[name] = inner();
  }
  return { $ref: `#/components/schemas/${name}` };
}
