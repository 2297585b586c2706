/**
 * Bytes that are kept for long are kept alone. What a worker sends is cut out of its request, and a piece of memory
 * lives as long as any view of it: one byte out of twenty megabytes would be counted as one and take them all.
 */

/** What a view may keep beside itself, in bytes; beyond it, and beyond its own length, it is copied. */
const BESIDE_BYTES_MAX = 1_024;

/** The same bytes, in memory that holds little else. */
export function ownBytes(view: Buffer): Buffer {
  const beside = view.buffer.byteLength - view.length;
  if (beside <= BESIDE_BYTES_MAX || beside <= view.length) return view;
  // Not out of a pool, which is shared memory again.
  const own = Buffer.allocUnsafeSlow(view.length);
  view.copy(own);
  return own;
}
