/** Finds the parts of Slipway that are installed beside this command. */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { packageVersion } from '@slipway/kit/host/package-version';

/** Entry modules of the parts by name. */
const ENTRIES = {
  core: '@slipway/core/main',
  facade: '@slipway/facades/main',
  edge: '@slipway/edge/main',
  agent: '@slipway/gpu-agent/main',
  start: '@slipway/dev/start',
} as const;

/** Version of this command. */
export const CLI_VERSION = packageVersion(new URL('../package.json', import.meta.url));

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
    return [part, program === undefined ? undefined : packageVersion(join(dirname(program), 'package.json'))];
  });
  return Object.fromEntries(entries) as Record<keyof typeof ENTRIES, string | undefined>;
}
