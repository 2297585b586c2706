/** Reads the body of a response, but not more of it than a bound. */

/** Returns the text of a body. `undefined` if it has more than `bytesMax` bytes; the rest is not read. */
export async function readBounded(response: Response, bytesMax: number): Promise<string | undefined> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.length;
    if (bytes > bytesMax) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
