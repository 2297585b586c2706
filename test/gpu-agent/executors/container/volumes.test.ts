// test: alone, python, 15 s
/** Network volumes and models of containers and commands, on a real Podman. */
import t from 'tap';
import { podmanSkip, startPodman } from '../../../helpers/engines/podman.ts';
import { modelCases } from './model-cases.ts';
import { mappedUserCases, volumeCases } from './volume-cases.ts';

t.setTimeout(600_000);

t.test('volumes', { skip: podmanSkip }, async (t) => {
  const podman = await startPodman();
  await volumeCases(t, podman);
  await t.test('users of containers are users of the host', (t) => mappedUserCases(t, podman));
  await t.test('models', (t) => modelCases(t, podman));
});
