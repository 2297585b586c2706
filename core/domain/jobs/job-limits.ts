/**
 * Size limits of inputs and outputs (docs/reference/api.md#limits). The protocol has the same numbers; a test
 * compares them.
 */
import type { SubmitKind } from './retention.ts';

const MIB = 1024 * 1024;

/** Largest input in bytes, by kind of submission. */
export const PAYLOAD_BYTES_MAX: Record<SubmitKind, number> = { ASYNC: 10 * MIB, SYNC: 20 * MIB };
/** Deepest nesting of an input. */
export const INPUT_DEPTH_MAX = 256;
/** Largest s3Config in bytes, as a message: it is sealed in one piece. */
export const S3_CONFIG_BYTES_MAX = 64 * 1024;
/** Longest Idempotency-Key in characters. */
export const IDEMPOTENCY_KEY_LENGTH_MAX = 255;
/** Longest wait of a caller in milliseconds. */
export const WAIT_MS_MAX = 300_000;
/** Largest output in bytes, and largest streamed or progress value. */
export const OUTPUT_BYTES_MAX = 20 * MIB;
export const CHUNK_BYTES_MAX = 1_000_000;
/** Longest error text of a job that is stored, in characters. */
export const ERROR_LENGTH_MAX = 262_144;
/** Inputs up to this many bytes travel with their assignment. */
export const INLINE_INPUT_BYTES_MAX = 256 * 1024;
/** Chunks in one answer to a reader, and the bytes after which an answer ends. */
export const READ_CHUNKS_MAX = 1_000;
export const READ_CHUNKS_BYTES_MAX = 8 * MIB;
