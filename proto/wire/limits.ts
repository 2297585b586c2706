/**
 * Sizes that both ends of a wire must agree on. Each carries its unit; relations between them are checked when the file
 * loads.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/**
 * Largest body of POST /run in bytes (docs/reference/api.md#limits; binary, so that nothing legal under either reading
 * is refused).
 */
export const RUN_PAYLOAD_BYTES_MAX = 10 * MIB;
/** Largest body of POST /runsync in bytes (docs/reference/api.md#limits). */
export const RUNSYNC_PAYLOAD_BYTES_MAX = 20 * MIB;
/**
 * Largest output of a job in bytes. A larger one makes the job FAILED with a text that says so
 * (docs/reference/worker-protocol.md#results).
 */
export const OUTPUT_BYTES_MAX = 20 * MIB;
/** Largest streamed chunk in bytes (docs/reference/api.md#limits). */
export const CHUNK_BYTES_MAX = 1_000_000;
/** Payloads above this many bytes leave the shared streams and travel alone. */
export const SIDE_STREAM_BYTES_MIN = 256 * KIB;
/** Size of a piece on a side stream in bytes. */
export const SIDE_STREAM_PIECE_BYTES = 256 * KIB;
/** Largest gRPC message in bytes; grpc-js refuses messages over 4 MiB unless told otherwise. */
export const MESSAGE_BYTES_MAX = 32 * MIB;
/** Aim for messages of at most this many bytes on batching streams. */
export const BATCH_MESSAGE_BYTES = MIB;
/** Most calls in one PipelineRequest. */
export const PIPELINE_CALLS_MAX = 1_000;
/** Deepest nesting of a job's input. Python's JSON reader gives up at about 1,000. */
export const INPUT_DEPTH_MAX = 256;
/** Bytes of a worker's log that are kept. */
export const WORKER_LOG_BYTES_MAX = MIB;
/** Most requests of a draft of a batch. */
export const DRAFT_REQUESTS_MAX = 5_000;
/** Longest Idempotency-Key in characters. */
export const IDEMPOTENCY_KEY_LENGTH_MAX = 255;
/** Bounds of a caller's wait in milliseconds (docs/reference/api.md#submit). */
export const WAIT_MS_MIN = 1_000;
export const WAIT_MS_MAX = 300_000;
export const WAIT_MS_DEFAULT = 90_000;
/** A wait that core has held for its time plus this many milliseconds without an answer is given up. */
export const WAIT_GRACE_MS = 15_000;

/** Span in which requests count for a rate limit or an account's quota of them, in seconds. */
export const REQUEST_WINDOW_SECONDS = 10;
/** Endpoints in one EdgeService.TellRefusals. */
export const REJECTIONS_PER_CALL_MAX = 50;

/** Longest headers and URI of an HTTP request together, in bytes; beyond it 431, from the edge as from the facade. */
export const HTTP_HEADER_BYTES_MAX = 16 * KIB;
/** Headers of an HTTP request by number; beyond it 431 too. A browser sends thirty. */
export const HTTP_HEADERS_MAX = 200;
/** Error text for the sender. */
export const HEADERS_TOO_LARGE =
  `The URI and the headers may take ${HTTP_HEADER_BYTES_MAX} bytes together, and there may be ` +
  `${HTTP_HEADERS_MAX} headers.`;
/** Longest time for the headers of an HTTP request, in milliseconds. */
export const HTTP_HEADERS_MS = 20_000;
/**
 * How long the facade keeps an idle HTTP connection, in milliseconds. Whoever sends to it must give up idle ones
 * earlier.
 */
export const HTTP_KEEP_ALIVE_MS = 72_000;
/**
 * Defaults of load-balancing endpoints, in milliseconds: a request's wait for a worker, its time at the worker, the
 * silence of a WebSocket.
 */
export const LB_HOLD_MS_DEFAULT = 120_000;
export const LB_PROCESSING_MS_DEFAULT = 330_000;
export const LB_SOCKET_IDLE_MS_DEFAULT = 600_000;
/** Largest body of a load-balancing endpoint each way in bytes (docs/reference/api.md#load-balancing). */
export const LB_BODY_BYTES_MAX = 30 * 1024 * 1024;
/** Longest headers of an answer of a worker or pod, in bytes and by number: what an edge takes, a facade takes. */
export const LB_ANSWER_HEADER_BYTES_MAX = 64 * KIB;
export const LB_ANSWER_HEADERS_MAX = 200;
/**
 * How long a silent connection to a worker is kept, in milliseconds: half of what its agent has seen that it does
 * (gpu-agent/workloads/http/single-use.ts).
 */
export const LB_KEPT_MS = 1_000;
/**
 * A proxy knows no exact limit for one worker, an activator does. So an endpoint whose workers get fewer requests at
 * once than this, the default of endpoints of this type, is served through activators alone.
 */
export const LB_DIRECT_CONCURRENCY_MIN = 100;
/** Requests at a time to one load-balancing endpoint, and what each of its workers adds when it has many. */
export const LB_REQUESTS_AT_ONCE = 2_000;
export const LB_REQUESTS_AT_ONCE_PER_WORKER = 20;

if (RUNSYNC_PAYLOAD_BYTES_MAX >= MESSAGE_BYTES_MAX || OUTPUT_BYTES_MAX >= MESSAGE_BYTES_MAX)
  throw new Error('a payload does not fit into a message');
if (CHUNK_BYTES_MAX >= MESSAGE_BYTES_MAX / 2) throw new Error('chunks do not fit into a message');

/**
 * Most requests to the job API in flight at a facade, of all accounts: each is a call to core, and many wait. They are
 * shared between accounts, because one account with many endpoints could otherwise use them all.
 */
export const FACADE_REQUESTS_MAX = 16_000;

/**
 * Most calls to core in flight at a facade; further ones are rejected. The checks of API keys need some beside the
 * requests.
 */
export const FACADE_CALLS_MAX = FACADE_REQUESTS_MAX + 4_000;
