/**
 * Frees the memory of a large body when it is stored, instead of at the next collection of old objects. Collecting what
 * bodies of 10 MB had left was half of the delay that they caused to other requests.
 */

/** Smaller buffers are left to the garbage collector: freeing one takes longer than collecting it. */
const BYTES_MIN = 64 * 1024;

/** Buffers that a socket may hold: only `freeSentBytes` frees them. */
const sent = new WeakSet<ArrayBufferLike>();

/** Bytes for a socket. */
export interface SentBytes extends Uint8Array {
  /** How often they were given to one, counted by our patches of the gRPC library and the database driver. */
  sends?: number;
}

/** Begins to count how often bytes are sent. From then on only `freeSentBytes` frees their buffer. */
export function countSends(bytes: SentBytes): void {
  bytes.sends = 0;
  sent.add(bytes.buffer);
}

/**
 * Frees the buffer that `bytes` are a view of, which must be most of it, unless a socket may hold it. From then on
 * every view of it is empty.
 */
export function freeBytes(bytes: Uint8Array): void {
  if (!sent.has(bytes.buffer)) free(bytes);
}

function free({ buffer, length }: Uint8Array): void {
  if (length >= BYTES_MIN && 2 * length >= buffer.byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/**
 * Frees bytes whose receiver has answered that it has read them. If they were sent more than once, the socket of an
 * earlier try may still hold them, and they are left to the garbage collector.
 */
export function freeSentBytes(bytes: SentBytes): void {
  if (bytes.sends === 1) free(bytes);
}
