/**
 * Reads a process's configuration and reports all faults at once. The only file besides config files that reads the
 * environment.
 */
import { readFileSync } from 'node:fs';

/** All faults of a configuration, one per line. */
export class ConfigError extends Error {
  constructor(faults: readonly string[]) {
    super(
      `The configuration has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n` +
        `${faults.map((f) => `  ${f}`).join('\n')}`,
    );
    this.name = 'ConfigError';
  }
}

/** Typed readers over a set of variables; `finish` throws when any of them failed. */
export class EnvReader {
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #faults: string[] = [];

  constructor(env: Readonly<Record<string, string | undefined>>) {
    this.#env = env;
  }

  /** Returns a text. Required if there is no default. */
  text(name: string, fallback?: string): string {
    const value = this.#env[name];
    if (value !== undefined && value !== '') return value;
    if (fallback === undefined) this.#faults.push(`${name} is not set`);
    return fallback ?? '';
  }

  /**
   * Returns a secret: the value of `NAME`, or the content of the file that `NAME_FILE` names, without its last line
   * end. A file is safer: every process of the same user can read the environment of a process. Required if there is no
   * default.
   */
  secret(name: string, fallback?: string): string {
    const file = this.#env[`${name}_FILE`];
    if (file === undefined || file === '') {
      const value = this.#env[name];
      if (value !== undefined && value !== '') return value;
      if (fallback === undefined)
        this.#faults.push(`${name} is not set, nor ${name}_FILE, the name of a file that holds it`);
      return fallback ?? '';
    }
    if (this.#env[name]) this.#faults.push(`${name} and ${name}_FILE are both set; one is enough`);
    return this.#readSecret(`${name}_FILE`, file);
  }

  #readSecret(name: string, file: string): string {
    try {
      const value = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
      if (value === '') this.#faults.push(`${name} names ${file}, which is empty`);
      return value;
    } catch (error) {
      this.#faults.push(`${name} names a file that cannot be read: ${(error as Error).message}`);
      return '';
    }
  }

  /** Returns an integer within [min, max]. */
  integer(name: string, fallback: number, min: number, max: number): number {
    const text = this.#env[name];
    if (text === undefined || text === '') return fallback;
    const value = Number(text);
    if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
    this.#faults.push(`${name} is ${JSON.stringify(text)}, but must be a whole number from ${min} to ${max}`);
    return fallback;
  }

  /** Returns a flag: `true`, `1`, `false` or `0`. */
  flag(name: string, fallback: boolean): boolean {
    const text = this.#env[name];
    if (text === undefined || text === '') return fallback;
    if (text === 'true' || text === '1') return true;
    if (text === 'false' || text === '0') return false;
    this.#faults.push(`${name} is ${JSON.stringify(text)}, but must be true or false`);
    return fallback;
  }

  /** Returns one of the listed words. */
  choice<const Word extends string>(name: string, words: readonly Word[], fallback: Word): Word {
    const text = this.#env[name];
    if (text === undefined || text === '') return fallback;
    const found = words.find((word) => word === text);
    if (found === undefined)
      this.#faults.push(`${name} is ${JSON.stringify(text)}, but must be one of ${words.join(', ')}`);
    return found ?? fallback;
  }

  /** Returns a comma-separated list, trimmed. */
  list(name: string, fallback: readonly string[]): string[] {
    const text = this.#env[name];
    if (text === undefined) return [...fallback];
    return text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
  }

  /** Returns a flag (`true`, `false`, `1`, `0`), or the comma-separated names for which it is true. */
  flagOrList(name: string, fallback: boolean): boolean | string[] {
    const listed = this.list(name, []);
    const isFlag = listed.length === 0 || (listed.length === 1 && ['true', 'false', '1', '0'].includes(listed[0]!));
    return isFlag ? this.flag(name, fallback) : listed;
  }

  /** Records a fault found by the caller's own check. */
  fault(text: string): void {
    this.#faults.push(text);
  }

  /** Throws ConfigError when anything was wrong. Call it last. */
  finish(): void {
    if (this.#faults.length > 0) throw new ConfigError(this.#faults);
  }
}
