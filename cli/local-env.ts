/**
 * Reads `.slipway/local.env`, the facts that a running `npm start` leaves for others on this machine, and the
 * operator's key, which stays in secrets.json beside it: local.env is read into shells, whose programs must not get
 * that key.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'shell-quote';
import { LOCAL_ENV_NAMES } from './config.ts';

/** What the file says. */
export interface LocalFacts {
  /** Where they were read. */
  file: string;
  coreAddress: string | undefined;
  apiKey: string | undefined;
  /** The operator's; undefined when this user may not read it. */
  rootKey: string | undefined;
  endpointId: string | undefined;
  /** Body of a job that works: `{"input":…}`. */
  exampleBody: string | undefined;
}

const ROOT = join(import.meta.dirname, '../facades');

/** Files that are looked for when none is named: of the current folder, then of the checkout. */
export function usualFiles(workingDir: string): string[] {
  return [join(workingDir, '.slipway', 'local.env'), join(ROOT, '.slipway', 'local.env')];
}

/** Reads a file; undefined when it cannot be read, which is so while nothing runs. */
export function readLocalEnv(file: string): LocalFacts | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
  const values = new Map(text.split('\n').flatMap(readLine));
  const value = (name: keyof typeof LOCAL_ENV_NAMES): string | undefined =>
    values.get(LOCAL_ENV_NAMES[name]) || undefined;
  return {
    file,
    coreAddress: value('coreAddress'),
    apiKey: value('apiKey'),
    endpointId: value('endpointId'),
    exampleBody: value('exampleBody'),
    rootKey: readRootKey(join(dirname(file), 'secrets.json')),
  };
}

function readRootKey(secretsFile: string): string | undefined {
  try {
    const { rootKey } = JSON.parse(readFileSync(secretsFile, 'utf8')) as { rootKey?: unknown };
    return typeof rootKey === 'string' && rootKey !== '' ? rootKey : undefined;
  } catch {
    return undefined;
  }
}

/** `NAME='value'`, quoted as for a shell; other lines say nothing. */
function readLine(line: string): [name: string, value: string][] {
  const [word] = parse(line);
  if (typeof word !== 'string') return [];
  const equals = word.indexOf('=');
  return equals > 0 ? [[word.slice(0, equals), word.slice(equals + 1)]] : [];
}
