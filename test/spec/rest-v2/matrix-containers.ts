/** Templates, endpoints and pods as each surface makes, changes, reads and deletes them. */
import type { Json, Resource, Surfaces } from './surface-matrix.ts';
import { idOf, pairs, picked } from './surface-matrix.ts';

interface Template {
  name: string;
  image: string;
  disk: number;
  env: Record<string, string>;
  ports: string[];
}
/** Returns templates. */
export function templates(by: Surfaces): Resource<Template> {
  const { v1, v2, graphql, cli, seen, asked, made, shown } = by;
  const rest = ({ image: imageName, disk: containerDiskInGb, ...more }: Template) => ({
    ...more,
    imageName,
    containerDiskInGb,
  });
  const v1Names = { name: 'name', image: 'imageName', disk: 'containerDiskInGb', env: 'env', ports: 'ports' };
  const fields = ({ name, image, disk, env, ports }: Template): string =>
    `name: "${name}", imageName: "${image}", containerDiskInGb: ${disk}, env: ${pairs(env)}, ports: "${ports}", ` +
    'dockerArgs: "", volumeInGb: 0';
  const options = ({ image, disk, env, ports }: Template): string[] => [
    ...['--image', image, '--disk', String(disk)],
    ...Object.entries(env).flatMap(([name, text]) => ['--env', `${name}=${text}`]),
    ...ports.flatMap((port) => ['--port', port]),
  ];
  return {
    value: (n) => ({
      name: `t-${n} é`,
      image: `a/b:${n}`,
      disk: 5 + n,
      env: { [`A${n}`]: `=${n} ` },
      ports: [`${8000 + n}/http`],
    }),
    ways: {
      v1: {
        create: (value) => idOf(v1('POST', '/templates', { ...rest(value), isServerless: true })),
        change: (id, value) => v1('PATCH', `/templates/${id}`, rest(value)),
        read: async (id) => picked(await seen(`/v1/templates/${id}`), v1Names),
        remove: (id) => v1('DELETE', `/templates/${id}`),
      },
      v2: {
        create: (value) => idOf(v2('POST', '/templates', { ...value, serverless: true })),
        change: (id, value) => v2('PATCH', `/templates/${id}`, value),
        read: async (id) =>
          picked(await seen(`/v2/templates/${id}`), {
            name: 'name',
            image: 'image',
            disk: 'disk',
            env: 'env',
            ports: 'ports',
          }),
        remove: (id) => v2('DELETE', `/templates/${id}`),
      },
      graphql: {
        create: (value) => made(`saveTemplate(input: { ${fields(value)}, isServerless: true })`, 'saveTemplate'),
        change: (id, value) => made(`saveTemplate(input: { id: "${id}", ${fields(value)} })`, 'saveTemplate'),
        read: async (id) => {
          const query = `{ podTemplate(id: "${id}") { name imageName containerDiskInGb env { key value } ports } }`;
          const found = await asked(query, 'podTemplate');
          const env = Object.fromEntries(
            ((found?.['env'] ?? []) as { key: string; value: string }[]).map(({ key, value }) => [key, value]),
          );
          return picked(found && { ...found, env, ports: String(found['ports']).split(',') }, v1Names);
        },
        remove: (_id, { name }) => graphql(`mutation { deleteTemplate(templateName: "${name}") }`),
      },
      cli: {
        create: async (value) =>
          String((await cli.json<Json>('templates', 'create', value.name, ...options(value)))['id']),
        change: (id, value) => cli.json('templates', 'update', id, '--name', value.name, ...options(value)),
        read: async (id) => picked(await shown('templates', 'get', id), v1Names),
        remove: (id) => cli.json('templates', 'delete', id),
      },
    },
  };
}

interface Endpoint {
  name: string;
  max: number;
  idle: number;
  delay: number;
  timeout: number;
  flashboot: boolean;
}
/** Returns endpoints of one template. */
export async function endpoints(by: Surfaces): Promise<Resource<Endpoint>> {
  const { v1, v2, graphql, cli, seen, asked, made, shown } = by;
  const templateId = await idOf(v2('POST', '/templates', { name: 'run', image: 'a/b:1', serverless: true }));
  const names = {
    name: 'name',
    max: 'workersMax',
    idle: 'idleTimeout',
    delay: 'scalerValue',
    timeout: 'executionTimeoutMs',
    flashboot: 'flashboot',
  };
  const rest = ({
    name,
    max: workersMax,
    idle: idleTimeout,
    delay: scalerValue,
    timeout: executionTimeoutMs,
    flashboot,
  }: Endpoint) => ({
    ...{
      name,
      workersMin: 0,
      workersMax,
      idleTimeout,
      scalerType: 'QUEUE_DELAY',
      scalerValue,
      executionTimeoutMs,
      flashboot,
    },
  });
  const body = ({ name, max, idle, delay, timeout, flashboot }: Endpoint) => ({
    ...{ name, workers: { max, idleTimeout: idle }, scaling: { type: 'QUEUE_DELAY', queueDelay: delay }, timeout },
    flashboot: flashboot ? 'FLASHBOOT' : 'OFF',
  });
  const fields = ({ name, max, idle, delay, timeout, flashboot }: Endpoint): string =>
    `name: "${name}", workersMin: 0, workersMax: ${max}, idleTimeout: ${idle}, scalerType: "QUEUE_DELAY", ` +
    `scalerValue: ${delay}, executionTimeoutMs: ${timeout}, flashBootType: ${flashboot ? 'FLASHBOOT' : 'OFF'}`;
  const options = ({ name, max, idle, delay, timeout, flashboot }: Endpoint): string[] => [
    ...['--name', name, '--workers-max', String(max), '--idle-timeout', String(idle), '--scaler', 'queue-delay'],
    ...['--scaler-value', String(delay), '--execution-timeout', `${timeout / 1_000}s`],
    flashboot ? '--flashboot' : '--no-flashboot',
  ];
  /** Three surfaces delete none that may have workers. */
  const closed = (id: string) => v1('PATCH', `/endpoints/${id}`, { workersMax: 0 });
  return {
    value: (n) => ({
      name: `e ${n}`,
      max: n,
      idle: 5 + n,
      delay: 1 + n,
      timeout: 10_000 + n * 1_000,
      flashboot: n % 2 === 0,
    }),
    ways: {
      v1: {
        create: (value) => idOf(v1('POST', '/endpoints', { ...rest(value), templateId, gpuTypeIds: ['NVIDIA L4'] })),
        change: (id, value) => v1('PATCH', `/endpoints/${id}`, rest(value)),
        read: async (id) => picked(await seen(`/v1/endpoints/${id}`), names),
        remove: async (id) => {
          await closed(id);
          await v1('DELETE', `/endpoints/${id}`);
        },
      },
      v2: {
        create: (value) =>
          idOf(v2('POST', '/serverless', { ...body(value), type: 'QUEUE', templateId, gpu: { pools: ['ADA_24'] } })),
        change: (id, value) => v2('PATCH', `/serverless/${id}`, body(value)),
        read: async (id) => {
          const found = await seen(`/v2/serverless/${id}`);
          if (!found) return undefined;
          const { workers, scaling } = found as unknown as { workers: Json; scaling: Json };
          return {
            ...{ name: String(found['name']), max: Number(workers['max']), idle: Number(workers['idleTimeout']) },
            ...{ delay: Number(scaling['queueDelay']), timeout: Number(found['timeout']) },
            flashboot: found['flashboot'] === 'FLASHBOOT',
          };
        },
        remove: (id) => v2('DELETE', `/serverless/${id}`),
      },
      graphql: {
        create: (value) =>
          made(
            `saveEndpoint(input: { ${fields(value)}, templateId: "${templateId}", gpuIds: "ADA_24" })`,
            'saveEndpoint',
          ),
        change: (id, value) => made(`saveEndpoint(input: { id: "${id}", ${fields(value)} })`, 'saveEndpoint'),
        read: async (id) => {
          const members = 'name workersMax idleTimeout scalerValue executionTimeoutMs flashBootType';
          const query = `{ endpoint(id: "${id}") { ${members} } }`;
          const found = await asked(query, 'endpoint');
          return picked(found && { ...found, flashboot: found['flashBootType'] === 'FLASHBOOT' }, names);
        },
        remove: async (id) => {
          await closed(id);
          await graphql(`mutation { deleteEndpoint(id: "${id}") }`);
        },
      },
      cli: {
        create: async (value) =>
          String(
            (
              await cli.json<Json>(
                'endpoints',
                'create',
                '--template',
                templateId,
                '--gpu',
                'ADA_24',
                ...options(value),
              )
            )['id'],
          ),
        change: (id, value) => cli.json('endpoints', 'update', id, ...options(value)),
        read: async (id) => picked(await shown('endpoints', 'get', id), names),
        remove: async (id) => {
          await closed(id);
          await cli.json('endpoints', 'delete', id);
        },
      },
    },
  };
}

interface Pod {
  name: string;
  image: string;
  env: Record<string, string>;
}
/** Returns pods on processors. */
export function pods(by: Surfaces): Resource<Pod> {
  const { v1, v2, graphql, cli, seen, asked, made, shown } = by;
  const names = { name: 'name', image: 'image', env: 'env' };
  const size = 'cpu3c-2-4';
  const texts = (env: unknown): object =>
    Object.fromEntries(
      (env as string[]).map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    );
  return {
    value: (n) => ({ name: 'box', image: `a/b:${n}`, env: { [`A${n}`]: `x=${n}` } }),
    ways: {
      v1: {
        create: ({ name, image, env }) => {
          const body = { name, imageName: image, env, computeType: 'CPU', cpuFlavorIds: ['cpu3c'], vcpuCount: 2 };
          return idOf(v1('POST', '/pods', body, 201));
        },
        change: (id, { name, image, env }) => v1('PATCH', `/pods/${id}`, { name, imageName: image, env }),
        read: async (id) => picked(await seen(`/v1/pods/${id}`), names),
        remove: (id) => v1('DELETE', `/pods/${id}`),
      },
      v2: {
        create: (value) => idOf(v2('POST', '/pods', { ...value, cpu: { id: 'cpu3c', vcpuCount: 2 } })),
        change: (id, value) => v2('PATCH', `/pods/${id}`, value),
        read: async (id) => picked(await seen(`/v2/pods/${id}`), names),
        remove: (id) => v2('DELETE', `/pods/${id}`),
      },
      graphql: {
        create: ({ name, image, env }) =>
          made(
            `deployCpuPod(input: { name: "${name}", imageName: "${image}", instanceId: "${size}", ` +
              `env: ${pairs(env)} })`,
            'deployCpuPod',
          ),
        change: (id, { image, env }) =>
          made(`podEditJob(input: { podId: "${id}", imageName: "${image}", env: ${pairs(env)} })`, 'podEditJob'),
        read: async (id) => {
          const found = await asked(`{ pod(input: { podId: "${id}" }) { name imageName env } }`, 'pod');
          return picked(found && { ...found, image: found['imageName'], env: texts(found['env']) }, names);
        },
        remove: (id) => graphql(`mutation { podTerminate(input: { podId: "${id}" }) }`),
      },
      cli: {
        create: async ({ name, image, env }) => {
          const variables = Object.entries(env).flatMap(([key, value]) => ['--env', `${key}=${value}`]);
          const args = ['pods', 'create', name, '--image', image, '--compute', 'cpu', '--size', size, ...variables];
          return String((await cli.json<Json>(...args))['id']);
        },
        read: async (id) => picked(await shown('pods', 'get', id), names),
        remove: (id) => cli.json('pods', 'delete', id),
      },
    },
  };
}
