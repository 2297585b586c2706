/**
 * Images of a test run that its Podmans read from one store: made for each of them they took eight seconds of processor
 * time each time.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../time/wait-for.ts';

const MADE_MS_MAX = 120_000;

/**
 * Returns the folder of the run's image store. The first process that asks fills it with `make`; the others wait.
 * `undefined` if the run has none or it could not be made: each process then makes its own images. `npm test` names the
 * folder and removes it.
 */
export async function runImages(make: (store: string) => Promise<void>): Promise<string | undefined> {
  const { SLIPWAY_TEST_IMAGES: folder = '' } = process.env;
  if (folder === '') return undefined;
  const [store, made, failed] = ['store', 'made', 'failed'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(folder, { recursive: true });
  try {
    mkdirSync(store);
  } catch {
    await waitFor('the images of the run', () => existsSync(made) || existsSync(failed), MADE_MS_MAX).catch(
      () => undefined,
    );
    return existsSync(made) ? store : undefined;
  }
  await make(store).then(
    () => {
      writeFileSync(made, '');
    },
    () => {
      writeFileSync(failed, '');
    },
  );
  return existsSync(made) ? store : undefined;
}
