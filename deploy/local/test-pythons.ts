/**
 * The two Pythons that tests of Python workers run on: the newest release of the worker SDK and one of the 1.7 line, which still speaks
 * the older form of the protocol. They lie in .slipway-test/python-new and .slipway-test/python-old and are made when they are missing.
 */
import { join } from 'node:path';
import { makeVenv } from './python-venv.ts';
import type { VenvSeams } from './python-venv.ts';

/** What each of them holds. */
const REQUIREMENTS = { new: ['runpod==1.12.0'], old: ['runpod==1.7.13'] };

/** Makes both. Throws UsageError with what to install where Python or venv is missing. */
export async function makeTestPythons(root: string, seams: VenvSeams): Promise<void> {
  for (const [name, more] of Object.entries(REQUIREMENTS)) {
    await makeVenv({ requirements: { more }, parentDir: join(root, '.slipway-test'), name: `python-${name}` }, seams);
  }
}
