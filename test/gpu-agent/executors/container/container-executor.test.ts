// test: alone, python, 60 s
/** Containers on a real Podman. */
import t from 'tap';
import { podmanSkip, startPodman } from '../../../helpers/engines/podman.ts';
import { containerCases } from './container-cases.ts';

t.setTimeout(600_000);

t.test('containers', { skip: podmanSkip }, async (t) => containerCases(t, await startPodman()));
