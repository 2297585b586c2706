/**
 * Frees the memory of a large body when it is stored, instead of at the next collection of old objects. Collecting what
 * bodies of 10 MB had left was half of the delay that they caused to other requests.
 */

/** Smaller buffers are left to the garbage collector: freeing one takes longer than collecting it. */
const BYTES_MIN = 64 * 1024;

/** Bytes for a socket. */
export interface SentBytes extends Uint8Array {
  /** How often they were given to one, counted by our patches of the gRPC library and the database driver. */
  sends?: number;
}

/**
 * Frees the buffer that `bytes` are a view of, which must be most of it. From then on every view of it is empty. Must
 * never be called for bytes that a socket may still hold.
 */
export function freeBytes(bytes: Uint8Array): void {
  const { buffer } = bytes;
  const isMost = 2 * bytes.length >= buffer.byteLength;
  if (bytes.length >= BYTES_MIN && isMost && buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/**
 * Frees bytes whose receiver has answered that it has read them. If they were sent more than once, the socket of an
 * earlier try may still hold them, and they are left to the garbage collector.
 */
export function freeSentBytes(bytes: SentBytes): void {
  if (bytes.sends === 1) freeBytes(bytes);
}
