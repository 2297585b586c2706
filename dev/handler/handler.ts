/** Derives what an endpoint needs from a handler's file: a name, a command that runs it and a request that works. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bareAppCommand, bareAppRequirements, isBareApp } from '@slipway/kit/host/asgi-app';
import type { ExampleRequest } from '../example-request.ts';
import { exampleJob, exampleRequest } from '../example-request.ts';
import type { VenvDeps } from '../python/python-venv.ts';
import { makeVenv } from '../python/python-venv.ts';
import { checkSyntax } from './check-handler.ts';

/** A handler that can be served. */
export interface Handler {
  /** Name of its template and endpoint. */
  name: string;
  file: string;
  /** Command line that starts a worker. */
  command: string[];
  /** True if the handler is an HTTP server, for a load-balancing endpoint. False if it takes jobs. */
  lb: boolean;
  /** A request that works. For a handler that takes jobs, it submits a job. */
  example: ExampleRequest;
}

/** Release of the `runpod` package for handlers that do not list one. */
const RUNPOD_REQUIREMENT = 'runpod==1.12.0';

/** Generic file names. The folder's name says more. */
const GENERIC_NAMES = new Set(['handler', 'rp_handler', 'main', 'app', 'index', 'worker', 'server', 'src']);
const NAME_LENGTH_MAX = 60;

/** The handler to prepare. */
interface HandlerFile {
  file: string;
  /** See `Handler.lb`. */
  lb: boolean;
}

/** Prepares a handler. For Python it makes the environment, which takes a while the first time. Throws UsageError. */
export async function prepareHandler({ file, lb }: HandlerFile, venvDir: string, deps: VenvDeps): Promise<Handler> {
  const example = lb ? exampleRequest(file) : exampleJob(file);
  await checkSyntax(file, deps.signal);
  return {
    name: handlerName(file),
    file,
    lb,
    command: await handlerCommand({ file, lb }, venvDir, deps),
    example,
  };
}

/** Returns a readable name: the file's name, or its folder's if the file is called handler, main or the like. */
export function handlerName(file: string): string {
  const stem = basename(file, extname(file));
  const folder = basename(dirname(file));
  const chosen = GENERIC_NAMES.has(stem.toLowerCase()) && folder !== '' ? folder : stem;
  return (
    chosen
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, NAME_LENGTH_MAX) || 'handler'
  );
}

/** Returns the name to use when another handler already has the first one. The same file always gets the same name. */
export function distinctName(name: string, file: string): string {
  return `${name}-${createHash('sha256').update(file).digest('hex').slice(0, 6)}`;
}

async function handlerCommand({ file, lb }: HandlerFile, venvDir: string, deps: VenvDeps): Promise<string[]> {
  if (extname(file) !== '.py')
    return [process.execPath, '--import', fileURLToPath(import.meta.resolve('slipway-worker/register')), file];
  const python = await makeVenv({ requirements: requirementsOf(file, lb), parentDir: venvDir }, deps);
  return lb && isBareApp(file) ? bareAppCommand(python, file) : [python, '-u', file];
}

/**
 * Returns the requirements.txt beside the handler, plus the worker SDK if the file does not list it. An HTTP server
 * does not need the SDK.
 */
export function requirementsOf(file: string, lb = false): { file?: string; more: string[] } {
  const listed = join(dirname(file), 'requirements.txt');
  if (lb) {
    const more = isBareApp(file) ? bareAppRequirements(listed) : [];
    return existsSync(listed) ? { file: listed, more } : { more };
  }
  if (!existsSync(listed)) return { more: [RUNPOD_REQUIREMENT] };
  const named = readFileSync(listed, 'utf8')
    .split('\n')
    .some((line) => /^\s*runpod\b(?!-)/i.test(line));
  return { file: listed, more: named ? [] : [RUNPOD_REQUIREMENT] };
}
