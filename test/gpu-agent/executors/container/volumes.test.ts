// test: alone, python, 10 s
/** Network volumes of containers and commands, on a real Podman. */
import t from 'tap';
import { podmanSkip, startPodman } from '../../../helpers/engines/podman.ts';
import { volumeCases } from './volume-cases.ts';

t.setTimeout(600_000);

t.test('volumes', { skip: podmanSkip }, async (t) => volumeCases(t, await startPodman()));
