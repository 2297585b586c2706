/** Finds out by its files whether a folder has a handler of jobs or an HTTP server. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isBareApp } from '@slipway/kit/host/asgi-app';
import { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { JOB_FILE, REQUEST_FILE } from './folder-example.ts';

/** Names of programs by type, the most usual first. */
export const PROGRAMS: Readonly<Record<EndpointType.QB | EndpointType.LB, readonly string[]>> = {
  [EndpointType.QB]: ['handler.py', 'rp_handler.py', 'main.py', 'src/handler.py', 'src/rp_handler.py'],
  [EndpointType.LB]: ['app.py', 'server.py', 'main.py', 'handler.py', 'src/app.py', 'src/main.py', 'src/server.py'],
};
/** Names of files that say how a folder is built. */
export const CONTAINERFILES: readonly string[] = ['Containerfile', 'Dockerfile'];
const IMPORTS_RUNPOD = importOf('runpod');
const IMPORTS_SERVER = importOf('uvicorn|hypercorn|granian|aiohttp|flask|tornado|http\\.server');

/** Returns why the folder is for a load-balancing endpoint, for people. Empty: it is for a queue. */
export function whyLoadBalancing(folder: string): string {
  const has = (name: string): boolean => existsSync(join(folder, name));
  if (has(JOB_FILE)) return '';
  if (has(REQUEST_FILE)) return `has a ${REQUEST_FILE}`;
  if (CONTAINERFILES.some(has)) return '';
  const program = [...PROGRAMS[EndpointType.QB], ...PROGRAMS[EndpointType.LB]].find(has);
  return program !== undefined && isServer(join(folder, program)) ? `has an HTTP server, ${program}` : '';
}

/** Returns whether a file imports the SDK of queue workers. */
export function importsRunpod(file: string): boolean {
  return IMPORTS_RUNPOD.test(readFileSync(file, 'utf8'));
}

/** Returns whether a file imports the SDK of queue workers and nothing that serves HTTP. */
export function isQueueHandler(file: string): boolean {
  return importsRunpod(file) && !mayServe(file);
}

function isServer(file: string): boolean {
  return !importsRunpod(file) && mayServe(file);
}

function mayServe(file: string): boolean {
  return isBareApp(file) || IMPORTS_SERVER.test(readFileSync(file, 'utf8'));
}

/** Returns what matches an import of one of these modules, also behind others in one statement. */
function importOf(modules: string): RegExp {
  return new RegExp(`^\\s*(?:from\\s+|import\\s+(?:[^#\\n]*,\\s*)?)(?:${modules})\\b`, 'm');
}
