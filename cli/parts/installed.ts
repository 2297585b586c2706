/** Finds the parts of Slipway that are installed beside this command. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** Entry modules of the parts by name. */
const ENTRIES = {
  core: '@slipway/core/main',
  facade: '@slipway/facades/main',
  edge: '@slipway/edge/main',
  agent: '@slipway/gpu-agent/main',
  start: '@slipway/dev/start',
} as const;

/** Resolves packages that are installed beside this command. It carries pieces of some of them inside itself. */
const beside = createRequire(new URL('../../', import.meta.url));

/** Returns the path of a part's program; `undefined` if its package is not installed. */
export function findProgram(module: string): string | undefined {
  try {
    return beside.resolve(module);
  } catch {
    return undefined;
  }
}

/** Returns the version of each part; `undefined` if it is not installed. */
export function partVersions(): Record<keyof typeof ENTRIES, string | undefined> {
  const entries = Object.entries(ENTRIES).map(([part, module]) => {
    const program = findProgram(module);
    return [part, program === undefined ? undefined : versionIn(dirname(program))];
  });
  return Object.fromEntries(entries) as Record<keyof typeof ENTRIES, string | undefined>;
}

/** Returns the version in the package.json of a folder. */
export function versionIn(folder: string): string {
  return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version;
}
