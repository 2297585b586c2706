/** SSH keys of an account, one a line. */

const KEY_FORM = /^(ssh|ecdsa|sk)-\S+ \S+([ \t][^\n\r]*)?$/;

/** Returns the keys of the source that are not here yet. A key is the same with another comment. */
export function sshKeysToAdd(source: readonly string[], here: readonly string[]): string[] {
  const known = new Set(here.map(withoutComment));
  const keys = source.map((key) => key.trim()).filter((key) => KEY_FORM.test(key));
  return [...new Map(keys.map((key) => [withoutComment(key), key])).values()].filter(
    (key) => !known.has(withoutComment(key)),
  );
}

function withoutComment(key: string): string {
  return key.split(/\s+/).slice(0, 2).join(' ');
}
