/** Network volumes, registry credentials and secrets as each surface makes, changes, reads and deletes them. */
import type { Json, Resource, Surfaces } from './surface-matrix.ts';
import { idOf, picked } from './surface-matrix.ts';

interface Volume {
  name: string;
  size: number;
}
/** Returns network volumes. */
export function networkVolumes(by: Surfaces): Resource<Volume> {
  const { v1, v2, graphql, cli, seen, asked, made, listed } = by;
  const names = { name: 'name', size: 'size' };
  const dataCenterId = 'EU-RO-1';
  return {
    value: (n) => ({ name: `v ${n}`, size: 10 + n }),
    ways: {
      v1: {
        create: (value) => idOf(v1('POST', '/networkvolumes', { ...value, dataCenterId })),
        change: (id, value) => v1('PATCH', `/networkvolumes/${id}`, value),
        read: async (id) => picked(await seen(`/v1/networkvolumes/${id}`), names),
        remove: (id) => v1('DELETE', `/networkvolumes/${id}`),
      },
      v2: {
        create: (value) => idOf(v2('POST', '/network-volumes', { ...value, dataCenter: dataCenterId })),
        change: (id, value) => v2('PATCH', `/network-volumes/${id}`, value),
        read: async (id) => picked(await seen(`/v2/network-volumes/${id}`), names),
        remove: (id) => v2('DELETE', `/network-volumes/${id}`),
      },
      graphql: {
        create: ({ name, size }) =>
          made(
            `createNetworkVolume(input: { name: "${name}", size: ${size}, dataCenterId: "${dataCenterId}" })`,
            'createNetworkVolume',
          ),
        change: (id, { name, size }) =>
          made(`updateNetworkVolume(input: { id: "${id}", name: "${name}", size: ${size} })`, 'updateNetworkVolume'),
        read: async (id) => {
          const found = (await asked('{ myself { networkVolumes { id name size } } }', 'myself'))![
            'networkVolumes'
          ] as Json[];
          return picked(
            found.find((each) => each['id'] === id),
            names,
          );
        },
        remove: (id) => graphql(`mutation { deleteNetworkVolume(input: { id: "${id}" }) }`),
      },
      cli: {
        create: async ({ name, size }) =>
          String(
            (await cli.json<Json>('volumes', 'create', name, '--size', String(size), '--data-center', dataCenterId))[
              'id'
            ],
          ),
        change: (id, { name, size }) => cli.json('volumes', 'update', id, '--name', name, '--size', String(size)),
        read: async (id) => picked(await listed(id, 'volumes', 'list'), names),
        remove: (id) => cli.json('volumes', 'delete', id),
      },
    },
  };
}

/** Returns credentials of registries. */
export function registryCredentials(by: Surfaces): Resource<{ name: string }> {
  const { v1, v2, graphql, cli, seen, asked, made, listed, piped } = by;
  const names = { name: 'name' };
  const secret = { username: 'u', password: 'p' };
  return {
    // A name is fixed; a change is one of what no surface ever shows.
    value: () => ({ name: 'ghcr' }),
    ways: {
      v1: {
        create: (value) => idOf(v1('POST', '/containerregistryauth', { ...value, ...secret })),
        read: async (id) => picked(await seen(`/v1/containerregistryauth/${id}`), names),
        remove: (id) => v1('DELETE', `/containerregistryauth/${id}`),
      },
      v2: {
        create: (value) => idOf(v2('POST', '/registries', { ...value, ...secret })),
        read: async (id) => picked(await seen(`/v2/registries/${id}`), names),
        remove: (id) => v2('DELETE', `/registries/${id}`),
      },
      graphql: {
        create: ({ name }) =>
          made(`saveRegistryAuth(input: { name: "${name}", username: "u", password: "p" })`, 'saveRegistryAuth'),
        change: (id) =>
          made(`updateRegistryAuth(input: { id: "${id}", username: "u2", password: "p2" })`, 'updateRegistryAuth'),
        read: async (id) => {
          const { containerRegistryCreds } = (await asked(
            '{ myself { containerRegistryCreds { id name } } }',
            'myself',
          ))!;
          return picked(
            (containerRegistryCreds as Json[]).find((each) => each['id'] === id),
            names,
          );
        },
        remove: (id) => graphql(`mutation { deleteRegistryAuth(registryAuthId: "${id}") }`),
      },
      cli: {
        create: async ({ name }) =>
          String((await piped('p', 'registry-auths', 'create', name, '--username', 'u'))['id']),
        change: (id) => piped('p3', 'registry-auths', 'update', id, '--username', 'u3'),
        read: async (id) => picked(await listed(id, 'registry-auths', 'list'), names),
        remove: (id) => cli.json('registry-auths', 'delete', id),
      },
    },
  };
}

interface Secret {
  name: string;
  description: string;
}
/** Returns secrets. */
export function secrets(by: Surfaces): Resource<Secret> {
  const { v2, graphql, cli, seen, asked, made, listed, piped } = by;
  const names = { name: 'name', description: 'description' };
  return {
    value: (n) => ({ name: 'token', description: `d ${n}` }),
    ways: {
      v2: {
        create: (value) => idOf(v2('POST', '/account/secrets', { ...value, value: 'x' })),
        change: (id, { description }) => v2('PATCH', `/account/secrets/${id}`, { description, value: 'y' }),
        read: async (id) => picked(await seen(`/v2/account/secrets/${id}`), names),
        remove: (id) => v2('DELETE', `/account/secrets/${id}`),
      },
      graphql: {
        create: ({ name, description }) =>
          made(`secretCreate(input: { name: "${name}", description: "${description}", value: "x" })`, 'secretCreate'),
        change: (id, { description }) =>
          made(`secretUpdate(input: { id: "${id}", description: "${description}", value: "z" })`, 'secretUpdate'),
        read: async (id) => {
          const { secrets } = (await asked('{ myself { secrets { id name description } } }', 'myself'))!;
          return picked(
            (secrets as Json[]).find((each) => each['id'] === id),
            names,
          );
        },
        remove: (id) => graphql(`mutation { secretDelete(id: "${id}") }`),
      },
      cli: {
        create: async ({ name, description }) =>
          String((await piped('x', 'secrets', 'set', name, '--description', description))['id']),
        change: (_id, { name, description }) => piped('w', 'secrets', 'set', name, '--description', description),
        read: async (id) => picked(await listed(id, 'secrets', 'list'), names),
        remove: (id) => cli.json('secrets', 'delete', id),
      },
    },
  };
}
