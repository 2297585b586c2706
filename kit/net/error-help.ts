/**
 * Cause and fix of every error code that a client can meet (docs/reference/errors.md is made from it). Codes of core's
 * reasons are those of error.proto in lower case; the others are of HTTP itself, of load balancing, of OpenAI routes
 * and of GraphQL.
 */
import type { Reason } from '@slipway/proto/wire/reason';

/** Text of one code. */
export interface ErrorHelp {
  /** Statuses that come with it. */
  http: readonly number[];
  cause: string;
  /** A sentence: what the client can do. */
  fix: string;
}

/** Codes of core's reasons: a new reason does not compile until it has its help. */
const REASON_HELP: Record<Lowercase<Reason>, ErrorHelp> = {
  invalid_request: {
    http: [400, 408, 422, 426],
    cause: 'The body, a parameter or a field is malformed or out of range, or the request is no valid HTTP.',
    fix: 'Correct what the text names. REST v2 lists each fault in `errors`.',
  },
  invalid_input: {
    http: [400],
    cause: '`input` is missing, is no JSON object, or is nested deeper than 256.',
    fix: 'Send `{"input": {…}}`; wrap a list or a text in an object.',
  },
  invalid_policy: {
    http: [400],
    cause: 'A member of `policy` is out of range.',
    fix: 'Use the bounds of [policy](api.md#policy), in milliseconds.',
  },
  invalid_webhook: {
    http: [400],
    cause: '`webhook` is no http(s) URL, is longer than 2,048 characters, or leads to a private address.',
    fix: 'Send a public URL, or let the operator allow private addresses for webhooks.',
  },
  payload_too_large: {
    http: [400, 413],
    cause: 'The body is larger than the operation allows.',
    fix: 'Put large data into object storage and send its URL. The bounds are in [limits](limits.md).',
  },
  unauthorized: {
    http: [401],
    cause: 'There is no API key, it is unknown or revoked, or it lacks the permission.',
    fix: 'Send `Authorization: Bearer KEY`; `npx slipway keys list` shows the keys of the account.',
  },
  endpoint_not_found: {
    http: [404],
    cause: 'The account of the key has no such endpoint.',
    fix: 'Check the id, and that the key belongs to the same account: `npx slipway endpoints`.',
  },
  job_not_found: {
    http: [404],
    cause: 'There is no such job, or it was purged, or its ttl or retention has elapsed.',
    fix: 'Read results within their [retention](api.md#retention), or have them sent by webhook.',
  },
  template_not_found: {
    http: [404],
    cause: 'The account of the key has no such template.',
    fix: 'Check the id: `npx slipway templates`.',
  },
  not_found: {
    http: [404],
    cause: 'The path does not exist, or the account has no resource with this id.',
    fix: 'Check the method, the path and the ids in it.',
  },
  job_not_retryable: {
    http: [400],
    cause: 'The job is neither FAILED nor TIMED_OUT.',
    fix: 'Read its status first. Cancel a running job and submit it anew.',
  },
  idempotency_key_reused: {
    http: [400],
    cause: 'The Idempotency-Key came with another body before.',
    fix: 'Use a new key for each new job; use the same key only for the same body.',
  },
  wrong_endpoint_type: {
    http: [400],
    cause: 'The operation is for queue endpoints and this one is load-balancing, or the reverse.',
    fix: 'Send requests of a load-balancing endpoint to its own paths, and jobs to a queue endpoint.',
  },
  workers_not_zero: {
    http: [400],
    cause: 'The endpoint has workersMin or workersMax above 0 and cannot be deleted.',
    fix: 'Set both to 0, then delete it.',
  },
  in_use: {
    http: [400],
    cause: 'Another resource uses this one.',
    fix: 'First change or delete the resource that uses it. The text names it.',
  },
  name_taken: {
    http: [400],
    cause: 'The account has another resource of this kind with this name.',
    fix: 'Choose another name.',
  },
  rate_limited: {
    http: [429],
    cause: 'The account or the address sends too many requests, or too many at a time.',
    fix: 'Wait as long as `Retry-After` says, and send fewer. The limits are in [rates](api.md#rate-limits).',
  },
  queue_full: {
    http: [429, 503],
    cause: 'Too many jobs or requests wait for a worker already.',
    fix: 'Send more slowly, raise workersMax, or purge unneeded jobs. ' + 'See [queue length](api.md#queue-length).',
  },
  unavailable: {
    http: [503, 504],
    cause: 'A part of the service is down, restarting or overloaded.',
    fix: 'Try again after `Retry-After`. A submission with an Idempotency-Key can be repeated safely.',
  },
  internal: {
    http: [500],
    cause: 'A fault of the service.',
    fix: 'Give the `X-Request-Id` of the answer to the operator. The log has the cause.',
  },
  no_capacity: {
    http: [400],
    cause: 'No machine can hold the pod now.',
    fix: 'The text says why each machine was rejected. Stop other pods, or ask for less.',
  },
  pod_fixed: {
    http: [400],
    cause: 'The pod is locked, or it is a worker of an endpoint.',
    fix: 'Unlock the pod; change the endpoint of a worker instead.',
  },
  webhook_not_redrivable: {
    http: [400],
    cause: 'No webhook call of the job has ended yet, or it was repeated 20 times.',
    fix: 'Wait for the call to end: `npx slipway jobs webhooks JOB`.',
  },
  model_not_found: {
    http: [404],
    cause: 'No endpoint that the key may use has this model.',
    fix:
      'The message lists the models; `GET /openai/v1/models` has all. Give an endpoint the name as an alias: ' +
      '`npx slipway endpoints update ENDPOINT --model-alias NAME`.',
  },
};

/** Codes of HTTP, before any operation. */
const HTTP_HELP = {
  conflict: {
    http: [409],
    cause: 'The state of the resource does not allow the change.',
    fix: 'The text says what to do first. Read the resource again after that.',
  },
  expectation_failed: {
    http: [417],
    cause: 'The request has an `Expect` that is not `100-continue`.',
    fix: 'Leave the header out.',
  },
  forbidden: {
    http: [403],
    cause:
      'The API key is valid but has no permission for this. It may be read-only, for some endpoints, or for jobs only.',
    fix: 'Use a key that has the permission, or ask the owner of the account for one.',
  },
  headers_too_large: {
    http: [431],
    cause: 'The headers are larger than 16 KiB, or there are more than 200.',
    fix: 'Send less in headers and cookies.',
  },
  method_not_allowed: {
    http: [405],
    cause: 'The path exists, but not with this method.',
    fix: 'Use a method of the `Allow` header.',
  },
  not_implemented: {
    http: [501],
    cause: 'The operation is part of the public API, but this service does not have it.',
    fix: 'The text says what to use instead.',
  },
  not_own_page: {
    http: [403],
    cause: 'The request came from a page of another origin.',
    fix: 'Open the console by its own address.',
  },
  path_not_normalized: {
    http: [400],
    cause: 'A part of the path is `.` or `..`.',
    fix: 'Send the path without these parts.',
  },
  unsupported_encoding: {
    http: [415],
    cause: 'The body is compressed in another format than gzip.',
    fix: 'Compress it with gzip (`Content-Encoding: gzip`), or not at all.',
  },
} satisfies Record<string, ErrorHelp>;

/** Codes of load-balancing endpoints and of ports of pods. */
const LOAD_BALANCING_HELP = {
  affinity_worker_gone: {
    http: [404],
    cause: 'The worker that `X-Runpod-Worker-Id` names has ended.',
    fix: 'Send the request without the header.',
  },
  needs_edge: {
    http: [503],
    cause: 'The workers of the endpoint speak HTTP/2, and the request did not come through an edge.',
    fix: 'Send it to the address of the edge.',
  },
  no_workers_available: {
    http: [503],
    cause: 'No worker became ready in time.',
    fix: 'Try again; `npx slipway why ENDPOINT` says why there is none. workersMin above 0 keeps one ready.',
  },
  pod_not_listening: {
    http: [502],
    cause: 'The pod does not run, or its program does not listen on this port.',
    fix: 'Start the pod; listen on 0.0.0.0.',
  },
  processing_timeout: {
    http: [504],
    cause: 'The worker did not answer in time.',
    fix: 'Let the worker answer sooner, or use a queue endpoint for long work.',
  },
  worker_failed: {
    http: [502],
    cause: 'The worker ended the connection before it answered, or its answer is no valid HTTP.',
    fix: "Read the worker's log. The request may have been begun, so repeat it only if that is safe.",
  },
  worker_timeout: {
    http: [400],
    cause: 'The worker that `X-Runpod-Worker-Id` names did not become ready in time.',
    fix: 'Send the request without the header.',
  },
} satisfies Record<string, ErrorHelp>;

/** Codes in OpenAI's envelope, unless the worker's own error has one. */
const OPENAI_HELP = {
  job_cancelled: { http: [500], cause: 'The job behind the request was cancelled.', fix: 'Send the request again.' },
  job_failed: { http: [500], cause: 'The worker reported an error.', fix: "Read the text and the worker's log." },
  job_timed_out: {
    http: [500],
    cause: 'The job ran longer than its execution timeout.',
    fix: 'Raise `executionTimeoutMs` of the endpoint, or ask for less.',
  },
  output_too_large: {
    http: [500],
    cause: "The answer is larger than a job's output may be.",
    fix: 'Stream it, or ask for less.',
  },
  worker_lost: {
    http: [200],
    cause: 'The worker was lost in the middle of a streamed answer.',
    fix: 'Send the request again.',
  },
} satisfies Record<string, ErrorHelp>;

/** `extensions.code` of GraphQL. */
const GRAPHQL_HELP = {
  RUNPOD: {
    http: [200, 401],
    cause: 'The service rejected the operation.',
    fix: '`extensions.reason` has one of the codes above in upper case, and `extensions.help` its address here.',
  },
  GRAPHQL_VALIDATION_FAILED: {
    http: [400],
    cause: 'The document does not fit the schema. Nothing ran.',
    fix: 'Correct the field that the text names.',
  },
  BAD_USER_INPUT: {
    http: [200, 400],
    cause: 'A variable or an argument has a wrong type.',
    fix: 'Correct the value that the text names.',
  },
  INTERNAL_SERVER_ERROR: {
    http: [200],
    cause: 'A fault of the service.',
    fix: 'Give the `X-Request-Id` of the answer to the operator.',
  },
} satisfies Record<string, ErrorHelp>;

/** A code in the body of an error, in `code` of problems and of OpenAI's envelope. */
export type ErrorCode =
  | Lowercase<Reason>
  | keyof typeof HTTP_HELP
  | keyof typeof LOAD_BALANCING_HELP
  | keyof typeof OPENAI_HELP;

/** All codes, in the order of the page. */
export const ERROR_HELP = {
  'Codes of every surface': REASON_HELP,
  'Codes of HTTP': HTTP_HELP,
  'Codes of load balancing': LOAD_BALANCING_HELP,
  'Codes of OpenAI routes': OPENAI_HELP,
  'Codes of GraphQL': GRAPHQL_HELP,
} satisfies Record<string, Readonly<Record<string, ErrorHelp>>>;

/** A code in `extensions` of a GraphQL error: `code`, or `reason` in lower case. */
export type GraphqlCode = keyof typeof GRAPHQL_HELP | ErrorCode;
