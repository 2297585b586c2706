/** Who reaches what from a container on a real Podman. */
import t from 'tap';
import { podmanSkip, startPodman } from '../../../helpers/podman.ts';
import { networkCases } from './network-cases.ts';

t.setTimeout(120_000);

t.test('networks of containers', { skip: podmanSkip }, async (t) => networkCases(t, await startPodman()));
