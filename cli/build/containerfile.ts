/** Chooses the Containerfile of a folder's image: the folder's own, or a generated one for its program. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { bareAppCommand, bareAppRequirements, isBareApp } from '@slipway/kit/host/asgi-app';
import { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { UsageError } from '../failures.ts';
import { CONTAINERFILES, importsRunpod, isQueueHandler, PROGRAMS } from './folder-type.ts';

/** How a folder is built. */
export interface BuildPlan {
  /** Text of a Containerfile. `undefined`: the folder's own. */
  text: string | undefined;
  /** Path of the folder's own Containerfile. */
  file: string | undefined;
  /** A sentence for people. */
  about: string;
}

/** Base of images that are made for a handler. */
export const BASE_DEFAULT = 'docker.io/library/python:3.12-slim';

/**
 * Returns the plan. `base`: image that the program is added to. `type`: of the endpoint. Throws UsageError if the
 * folder has neither a Containerfile nor a program of that type.
 */
export function planOf(folder: string, base: string, type: EndpointType.QB | EndpointType.LB): BuildPlan {
  const own = CONTAINERFILES.find((name) => existsSync(join(folder, name)));
  if (own !== undefined) return { text: undefined, file: join(folder, own), about: `by its ${own}` };
  const program = PROGRAMS[type].find((name) => existsSync(join(folder, name)));
  if (program === undefined) {
    const wanted = type === EndpointType.LB ? 'server' : 'handler';
    throw new UsageError(
      `${folder} has no Containerfile or Dockerfile, and no ${wanted} (${PROGRAMS[type].join(', ')}). ` +
        '"slipway init" makes a folder with a Containerfile and a handler.',
    );
  }
  const text = type === EndpointType.LB ? serverFile(folder, program, base) : handlerFile(folder, program, base);
  return { text, file: undefined, about: `of ${program} on ${base}` };
}

/** Returns the text for a handler of jobs. */
function handlerFile(folder: string, handler: string, base: string): string {
  const requirements = join(folder, 'requirements.txt');
  if (!existsSync(requirements) && importsRunpod(join(folder, handler)))
    throw new UsageError(`${handler} imports runpod: name it in ${requirements}.`);
  return containerfileOf(folder, base, { command: ['python', '-u', handler] });
}

/** Returns the text for a server. It must not listen on loopback, which is its container's own. */
function serverFile(folder: string, server: string, base: string): string {
  if (isQueueHandler(join(folder, server)))
    throw new UsageError(
      `${server} imports runpod and no HTTP server: it is a handler of jobs, and the endpoint is load-balancing. ` +
        'For an endpoint with a queue, give --type qb and another --name.',
    );
  const env = ['ENV HOST=0.0.0.0'];
  if (!isBareApp(join(folder, server)))
    return containerfileOf(folder, base, { env, command: ['python', '-u', server] });
  const requirements = join(folder, 'requirements.txt');
  if (!existsSync(requirements) && base === BASE_DEFAULT)
    throw new UsageError(`${server} needs its packages: name them in ${requirements}. uvicorn serves the app.`);
  const more = existsSync(requirements) ? bareAppRequirements(requirements) : [];
  return containerfileOf(folder, base, { env, more, command: bareAppCommand('python', server) });
}

function containerfileOf(
  folder: string,
  base: string,
  { env = [], more = [], command }: { env?: readonly string[]; more?: readonly string[]; command: readonly string[] },
): string {
  const hasRequirements = existsSync(join(folder, 'requirements.txt'));
  const packages = [...(hasRequirements ? ['-r requirements.txt'] : []), ...more];
  return [
    `FROM ${base}`,
    'WORKDIR /app',
    ...env,
    ...(hasRequirements ? ['COPY requirements.txt .'] : []),
    ...(packages.length > 0 ? [`RUN pip install --no-cache-dir ${packages.join(' ')}`] : []),
    'COPY . .',
    `CMD ${JSON.stringify(command)}`,
    '',
  ].join('\n');
}
