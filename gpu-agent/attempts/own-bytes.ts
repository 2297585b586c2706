/**
 * Copies bytes that are kept for long into memory of their own. A worker's value is a view of its request, and a buffer
 * lives as long as any view of it: a view of one byte would keep a request of twenty megabytes and be counted as one
 * byte.
 */

/** Most bytes that a view may keep alive beside itself. Beyond it, and beyond its own length, the view is copied. */
const BESIDE_BYTES_MAX = 1_024;

/** Returns the same bytes, in memory that holds little else. */
export function ownBytes(view: Buffer): Buffer {
  const beside = view.buffer.byteLength - view.length;
  if (beside <= BESIDE_BYTES_MAX || beside <= view.length) return view;
  // Not from the buffer pool, which is shared memory again.
  const own = Buffer.allocUnsafeSlow(view.length);
  view.copy(own);
  return own;
}
