/** Chooses the Containerfile of a folder's image: the folder's own, or a generated one for its handler. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '../failures.ts';

/** How a folder is built. */
export interface BuildPlan {
  /** Text of a Containerfile. `undefined`: the folder's own. */
  text: string | undefined;
  /** Path of the folder's own Containerfile. */
  file: string | undefined;
  /** A sentence for people. */
  about: string;
}

const OWN = ['Containerfile', 'Dockerfile'];
/** Names of handlers, the most usual first. */
const HANDLERS = ['handler.py', 'rp_handler.py', 'main.py', 'src/handler.py', 'src/rp_handler.py'];
/** Base of images that are made for a handler. */
export const BASE_DEFAULT = 'docker.io/library/python:3.12-slim';

/** Returns the plan. `base`: image that a handler is added to. Throws UsageError if the folder has neither. */
export function planOf(folder: string, base: string): BuildPlan {
  const own = OWN.find((name) => existsSync(join(folder, name)));
  if (own !== undefined) return { text: undefined, file: join(folder, own), about: `by its ${own}` };
  const handler = HANDLERS.find((name) => existsSync(join(folder, name)));
  if (handler === undefined)
    throw new UsageError(
      `${folder} has no Containerfile or Dockerfile, and no handler (${HANDLERS.join(', ')}). ` +
        '"slipway init" makes a folder with both.',
    );
  const hasRequirements = existsSync(join(folder, 'requirements.txt'));
  if (!hasRequirements && importsRunpod(join(folder, handler)))
    throw new UsageError(`${handler} imports runpod: name it in ${join(folder, 'requirements.txt')}.`);
  return { text: containerfileOf(handler, base, hasRequirements), file: undefined, about: `of ${handler} on ${base}` };
}

function importsRunpod(file: string): boolean {
  return /^\s*(import|from)\s+runpod\b/m.test(readFileSync(file, 'utf8'));
}

function containerfileOf(handler: string, base: string, hasRequirements: boolean): string {
  const requirements = ['COPY requirements.txt .', 'RUN pip install --no-cache-dir -r requirements.txt'];
  return [
    `FROM ${base}`,
    'WORKDIR /app',
    ...(hasRequirements ? requirements : []),
    'COPY . .',
    `CMD ${JSON.stringify(['python', '-u', handler])}`,
    '',
  ].join('\n');
}
