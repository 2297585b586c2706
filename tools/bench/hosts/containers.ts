/**
 * Part `containers`: start and resume of containers, compared with the same without an agent (container-figures.ts).
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { podmanSkip } from '@slipway/test/helpers/engines/podman-skip';
import type { Figure } from '../figure.ts';
import type { Bench } from '../stack/bench.ts';

/** Measures the part. Returns no figures where containers cannot be run, and reports that. */
export async function measureContainers({ say }: Pick<Bench, 'say'>): Promise<Figure[]> {
  if (podmanSkip) {
    say(`containers are not measured: ${podmanSkip}`);
    return [];
  }
  say('starts and wakes of containers');
  const child = fork(join(import.meta.dirname, 'container-figures.ts'), {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  let measured: Figure[] | undefined;
  // The test runner of the helpers sends its own messages.
  child.on('message', ({ figures }: { figures?: Figure[] }) => {
    measured ??= figures;
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (!measured) throw new Error(`the measurement of containers ended with code ${code}`);
  return measured;
}
