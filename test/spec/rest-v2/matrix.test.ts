// test: postgres, 15 s
/**
 * Each resource made on each surface (REST v1, REST v2, GraphQL, command line), changed on each, and read and deleted
 * on all: every answer has the same values.
 */
import t from 'tap';
import { joinEngineMachine } from '../../helpers/system/engine-machine.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { endpoints, pods, templates } from './matrix-containers.ts';
import { networkVolumes, registryCredentials, secrets } from './matrix-others.ts';
import { allSurfaces, checkMatrix } from './surface-matrix.ts';

t.setTimeout(600_000);
const system = await startSystem(t, { agents: 0 });
await joinEngineMachine(t, system, { locations: ['EU-RO-1'], cpuSlots: 50, cpuCount: 64, memoryMib: 262_144 });
const by = allSurfaces(t, system);

t.test('templates', async (t) => checkMatrix(t, templates(by)));
t.test('endpoints', async (t) => checkMatrix(t, await endpoints(by)));
t.test('pods', async (t) => checkMatrix(t, pods(by)));
t.test('network volumes', async (t) => checkMatrix(t, networkVolumes(by)));
t.test('registry credentials', async (t) => checkMatrix(t, registryCredentials(by)));
t.test('secrets', async (t) => checkMatrix(t, secrets(by)));
