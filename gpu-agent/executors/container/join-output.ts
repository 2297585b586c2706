/** Joins what an engine's log has of a container's output with what came by its stream while the log was read. Pure. */

/**
 * What of `stream` the log has not: all but its longest beginning that is the end of the log. In time linear in their
 * bytes, whatever these are.
 */
export function withoutOverlap(log: Buffer, stream: Buffer): Buffer {
  const end = log.subarray(Math.max(0, log.length - stream.length));
  const borders = bordersOf(stream.subarray(0, end.length));
  let matched = 0;
  for (const byte of end) {
    while (matched > 0 && (matched === borders.length || stream[matched] !== byte)) matched = borders[matched - 1]!;
    if (stream[matched] === byte) matched += 1;
  }
  return stream.subarray(matched);
}

/**
 * For each beginning of the text the length of its longest shorter beginning that is its end, too (Knuth, Morris,
 * Pratt).
 */
function bordersOf(text: Buffer): Uint32Array {
  const borders = new Uint32Array(text.length);
  for (let at = 1, length = 0; at < text.length; at += 1) {
    while (length > 0 && text[at] !== text[length]) length = borders[length - 1]!;
    if (text[at] === text[length]) length += 1;
    borders[at] = length;
  }
  return borders;
}
