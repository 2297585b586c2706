/**
 * Joins a container's output from the engine's log with the output that its stream delivered while the log was read.
 * Pure.
 */

/**
 * Returns the part of `stream` that the log does not have: everything after its longest prefix that is a suffix of the
 * log. Takes time linear in the bytes, whatever they are.
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
 * Returns, for each prefix of the text, the length of its longest shorter prefix that is also its suffix (Knuth,
 * Morris, Pratt).
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
