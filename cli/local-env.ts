/**
 * Reads `.slipway/local.env`, which a running `npm start` writes for other programs on this machine, and the operator's
 * key from secrets.json beside it. The key is not in local.env, because shells read that file and their programs must
 * not get it.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'shell-quote';
import { LOCAL_ENV_NAMES } from './config.ts';

/** Content of the file. */
export interface LocalFacts {
  /** Path of the file. */
  file: string;
  coreAddress: string | undefined;
  apiKey: string | undefined;
  /** The operator's key. `undefined` if this user may not read it. */
  rootKey: string | undefined;
  endpointId: string | undefined;
  /** Public address of the service. */
  url: string | undefined;
}

const ROOT = join(import.meta.dirname, '../facades');

/** Returns the files to try if none is named: in the current folder, then in the checkout. */
export function usualFiles(workingDir: string): string[] {
  return [join(workingDir, '.slipway', 'local.env'), join(ROOT, '.slipway', 'local.env')];
}

/** Reads a file. Returns `undefined` if it cannot be read, as is the case while nothing runs. */
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
    url: value('url'),
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

/** Parses `NAME='value'`, quoted as for a shell. Other lines are ignored. */
function readLine(line: string): [name: string, value: string][] {
  const [word] = parse(line);
  if (typeof word !== 'string') return [];
  const equals = word.indexOf('=');
  return equals > 0 ? [[word.slice(0, equals), word.slice(equals + 1)]] : [];
}
