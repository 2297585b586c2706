/** Returns a random id of a request, 32 hexadecimal digits. Works on pages without TLS too. */
export function newId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
