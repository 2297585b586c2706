/**
 * Removes secrets from log records, whatever object is passed and however its members are spelt, and bounds their
 * size.
 */

/** Placeholder of a secret. */
export const CENSORED = '[secret]';

const DEPTH_MAX = 8;
/** Values of one line. */
const VALUES_MAX = 1_000;
const TEXT_LENGTH_MAX = 8_192;
/** Name and password in an address. */
const USERINFO_LENGTH_MAX = 1_000;
/** Most members of an object and entries of an array that are logged: the first ones. */
const MEMBERS_MAX = 200;

/** Parts of names in lower case without `_`, `-` and the like: apiKey, API_KEY and x-api-key are one. */
const SECRET_PARTS =
  /authorization|apikey|secret|passw|passphrase|token|cookie|s3config|accesskey|privatekey|joinkey|edgekey|credential|session(key|cookie)/;
/**
 * Whole names that hold a secret: settings of users, addresses with a key in their path, parameters of statements.
 */
const SECRET_NAMES = new Set([
  'key',
  'keys',
  'auth',
  'pass',
  'env',
  'webhook',
  'webhookurl',
  'otlpheaders',
  'params',
  'parameters',
]);

function isSecret(name: string): boolean {
  const plain = name
    .slice(0, 200)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '');
  return SECRET_NAMES.has(plain) || SECRET_PARTS.test(plain);
}

/** Up to the last `@`, as addresses are read. */
const USERINFO = new RegExp(`://[^\\s/?"']{1,${USERINFO_LENGTH_MAX}}@`, 'g');
/** Parameters of a failed statement, at the end of drizzle's message and in its stack. */
const STATEMENT_VALUES = /\nparams: [^]*$/;

/** Returns a text without keys in addresses and headers, cut at TEXT_LENGTH_MAX. */
export function plainText(text: string): string {
  // Cut afterwards: half an address does not show that a password stands in it.
  const plain = text
    .slice(0, TEXT_LENGTH_MAX + USERINFO_LENGTH_MAX)
    .replace(USERINFO, `://${CENSORED}@`)
    .replace(/(:\/\/[^\s?"'<>]{0,1000})\?[^\s"'<>]*/g, `$1?${CENSORED}`)
    .replace(/\b(bearer|basic) +[\w.~+/=:-]+/gi, `$1 ${CENSORED}`);
  return text.length > TEXT_LENGTH_MAX ? `${plain.slice(0, TEXT_LENGTH_MAX)}… (${text.length} characters)` : plain;
}

/** Returns a copy for the log: plain, bounded, without secrets. Never throws. */
export function withoutSecrets(fields: object): Record<string, unknown> {
  try {
    return new Copy().members(fields instanceof Error ? { err: fields } : fields, 0);
  } catch {
    return { unreadable: true };
  }
}

class Copy {
  #left = VALUES_MAX;
  readonly #within = new Set<object>();

  members(from: object, depth: number): Record<string, unknown> {
    const entries: [string, unknown][] = [];
    for (const name of namesOf(from).slice(0, MEMBERS_MAX)) {
      if (this.#left <= 0) break;
      entries.push([name.slice(0, 200), this.#value(name, readMember(from, name), depth)]);
    }
    return Object.fromEntries(entries);
  }

  #value(name: string, value: unknown, depth: number): unknown {
    this.#left -= 1;
    // Counts and flags reveal nothing: `tokens: 20` stays.
    if (value === undefined || value === null || typeof value === 'number' || typeof value === 'boolean') return value;
    if (isSecret(name)) return CENSORED;
    if (typeof value === 'string') return plainText(value);
    if (typeof value === 'bigint') return `${value}`.slice(0, 100);
    if (typeof value !== 'object') return undefined;
    if (this.#within.has(value)) return '[circular]';
    if (depth >= DEPTH_MAX || this.#left <= 0) return '[left out]';
    this.#within.add(value);
    try {
      return this.#object(value, depth + 1);
    } catch {
      return '[unreadable]';
    } finally {
      this.#within.delete(value);
    }
  }

  #object(value: object, depth: number): unknown {
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
    if (value instanceof URL) return plainText(value.href);
    if (value instanceof Error) return this.#error(value, depth);
    if (value instanceof Map) return this.#map(value, depth);
    if (value instanceof Set) return this.#list([...value.values().take(MEMBERS_MAX)], depth);
    return Array.isArray(value) ? this.#list(value, depth) : this.members(value, depth);
  }

  #error(error: Error, depth: number): object {
    const message = readMember(error, 'message');
    const values =
      typeof message === 'string' && Array.isArray(readMember(error, 'params'))
        ? STATEMENT_VALUES.exec(message)?.[0]
        : undefined;
    const kept = ['name', 'message', 'stack', 'cause', 'errors'].flatMap((name) => {
      const value = readMember(error, name);
      if (value === undefined) return [];
      const shown = values !== undefined && typeof value === 'string' ? value.replace(values, '') : value;
      return [[name === 'name' ? 'type' : name, this.#value(name, shown, depth)]];
    });
    return { ...this.members(error, depth), ...(Object.fromEntries(kept) as object) };
  }

  #map(map: Map<unknown, unknown>, depth: number): object {
    const entries = [...map.entries().take(MEMBERS_MAX)].filter(([name]) => typeof name === 'string') as [
      string,
      unknown,
    ][];
    return Object.fromEntries(entries.map(([name, value]) => [name.slice(0, 200), this.#value(name, value, depth)]));
  }

  /** Hides secrets in a list. Headers also come as names and values in turn, or as pairs. */
  #list(list: readonly unknown[], depth: number): unknown[] {
    const kept: unknown[] = [];
    for (let index = 0; index < Math.min(list.length, MEMBERS_MAX) && this.#left > 0; index += 1) {
      const before = index > 0 ? readMember(list, index - 1) : '';
      kept.push(this.#value(typeof before === 'string' ? before : '', readMember(list, index), depth));
    }
    if (list.length > kept.length) kept.push(`… (${list.length})`);
    return kept;
  }
}

function namesOf(from: object): string[] {
  try {
    return Object.keys(from);
  } catch {
    return [];
  }
}

function readMember(from: object, name: string | number): unknown {
  try {
    return (from as Record<string | number, unknown>)[name];
  } catch {
    return '[unreadable]';
  }
}
