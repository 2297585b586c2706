/** Reads and writes the contexts of this user: installations that commands go to, with their keys. */
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { FolderLockedError, lockFolder } from '@slipway/kit/host/folder-lock';
import { retry } from '@slipway/kit/lifecycle/retry';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { UsageError } from './failures.ts';

/** One installation. Absent members are unknown. */
export interface Context {
  /** Address of core: host:port or grpcs://host:port. */
  core: string;
  /** Digest or file of the authority of core's certificate. */
  coreCa?: string | undefined;
  key?: string | undefined;
  /** The operator's key. */
  rootKey?: string | undefined;
  /** Endpoint of commands that do not name one. */
  endpoint?: string | undefined;
  /** Public address of the service. */
  url?: string | undefined;
}

/** Content of the file. */
interface Contexts {
  /** Name of the context in use. `undefined`: none, so commands go to a local `npm start`. */
  current?: string | undefined;
  contexts: Record<string, Context>;
}

/** Wait for another command that changes the file, in milliseconds. A change takes less than one. */
const LOCK_PAUSE = { firstMs: 5, maxMs: 100 };
const LOCK_MS_MAX = 5_000;
const OTHERS = 0o077;
const NAME = /^[\w][\w.-]{0,63}$/;
const MEMBERS = ['core', 'coreCa', 'key', 'rootKey', 'endpoint', 'url'] as const;

/** Returns the contexts. None if there is no file. Throws UsageError if the file is invalid, or open to other users. */
export function readContexts(file: string | undefined): Contexts {
  if (file === undefined) return { contexts: {} };
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { contexts: {} };
    throw new UsageError(`The contexts in ${file} cannot be read (${code}).`);
  }
  if ((statSync(file).mode & OTHERS) !== 0)
    throw new UsageError(`${file} holds keys and is open to other users of this machine. Run: chmod 600 '${file}'`);
  return parseContexts(text, file);
}

/** Dependencies of a change: those of a command. */
interface ChangeParts {
  config: { contextFile: string | undefined };
  clock: Clock;
  random: Random;
  stopping: AbortSignal;
}

/**
 * Replaces the contexts by those that `change` returns, and returns both. One command at a time: a change that another
 * command makes meanwhile is not lost. Throws UsageError.
 */
export async function changeContexts(
  { config, clock, random, stopping }: ChangeParts,
  change: (contexts: Contexts) => Contexts,
): Promise<{ before: Contexts; after: Contexts }> {
  const { contextFile: file } = config;
  if (file === undefined) throw new UsageError('There is no home folder for contexts: set HOME or XDG_CONFIG_HOME.');
  const failed = (error: unknown): never => {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${file} cannot be written (${(error as NodeJS.ErrnoException).code ?? String(error)}).`);
  };
  const folder = dirname(file);
  const lock = async (): Promise<() => void> => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return lockFolder(folder, 'command');
  };
  const mayHelp = (error: unknown): boolean => error instanceof FolderLockedError;
  const options = { clock, random, pause: LOCK_PAUSE, forMs: LOCK_MS_MAX, signal: stopping, mayHelp };
  const unlock = await retry(lock, options).catch(failed);
  try {
    const before = readContexts(file);
    const after = change(before);
    write(file, after);
    return { before, after };
  } catch (error) {
    return failed(error);
  } finally {
    unlock();
  }
}

/** Writes the file atomically, readable by its owner only. */
function write(file: string, contexts: Contexts): void {
  const part = `${file}.${process.pid}.part`;
  try {
    writeFileSync(part, `${JSON.stringify(contexts, null, 2)}\n`, { mode: 0o600 });
    renameSync(part, file);
  } catch (error) {
    // It has keys, and takes room on a disk that may be full.
    rmSync(part, { force: true });
    throw error;
  }
}

/** Returns the name of a context. Throws UsageError if it is not valid. */
export function checkContextName(name: string): string {
  if (NAME.test(name) && name !== LOCAL && name !== '__proto__') return name;
  throw new UsageError(
    `A context cannot be named ${JSON.stringify(name)}: use 1 to 64 letters, digits, dots and hyphens. ` +
      `"${LOCAL}" means the npm start of this machine.`,
  );
}

/** Name that stands for no context: the `npm start` of this machine. */
export const LOCAL = 'local';

/** Returns a context by name. Throws UsageError if there is none. */
export function contextNamed({ contexts }: Contexts, name: string): Context {
  const context = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (context) return context;
  const names = Object.keys(contexts);
  throw new UsageError(
    `There is no context ${JSON.stringify(name)}; ` +
      (names.length > 0 ? `there are: ${names.join(', ')}.` : 'make one with "slipway login ADDRESS".'),
  );
}

function parseContexts(text: string, file: string): Contexts {
  const wrong = (): UsageError =>
    new UsageError(`${file} is not a file of contexts. Correct it, or delete it and log in again: slipway login.`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw wrong();
  }
  const { current, contexts } = (value ?? {}) as Partial<Contexts>;
  if (typeof contexts !== 'object' || contexts === null || !['string', 'undefined'].includes(typeof current))
    throw wrong();
  for (const context of Object.values(contexts)) if (!isContext(context)) throw wrong();
  return { current, contexts };
}

function isContext(value: unknown): value is Context {
  if (typeof value !== 'object' || value === null) return false;
  const members = value as Record<string, unknown>;
  const isText = (name: string): boolean => ['string', 'undefined'].includes(typeof members[name]);
  return typeof members['core'] === 'string' && MEMBERS.every(isText);
}
