/**
 * docs/reference/management.md against the code: operations, settings of endpoints, GPU pools, GraphQL fields, commands
 * and exit codes.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT } from '@slipway/cli/failures';
import { GPU_POOLS } from '@slipway/core/domain/machines/gpu-pools';
import { ENDPOINT_SETTINGS } from '@slipway/core/domain/resources/endpoint';
import { buildFacade } from '@slipway/facades/app';
import { readFacadeConfig } from '@slipway/facades/config';
import { createLogger } from '@slipway/kit/log/logger';
import t from 'tap';
import { tableOf } from './page.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/reference/management.md'), 'utf8');

t.test('operations: all of the REST description with the status of success', async (t) => {
  // No core is asked for it.
  const facade = buildFacade(readFacadeConfig({ SLIPWAY_CORE_ADDRESS: '127.0.0.1:1', SLIPWAY_HTTP_PORT: '0' }), {
    logger: createLogger('test', 'silent'),
  });
  const { url } = await facade.start();
  t.teardown(() => facade.stop());
  const { paths } = (await (await fetch(`${url}/v1/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { responses: object }>>;
  };
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, { responses }]) =>
        `${method.toUpperCase()} ${path} ${Object.keys(responses).find((status) => status.startsWith('2'))}`,
    ),
  );
  t.same(
    tableOf(page, 'Operations', 'Method')
      .map(([method, path, status]) => `${method} ${path} ${status}`)
      .sort(),
    described.sort(),
  );
});

t.test('settings of endpoints: default, bounds, whether they change in place', async (t) => {
  const shown = (value: unknown): string => {
    if (value === undefined) return '–';
    if (typeof value === 'object') return 'none';
    return typeof value === 'number' ? value.toLocaleString('en-US') : String(value);
  };
  t.same(
    tableOf(page, 'Endpoints', 'Setting'),
    Object.entries(ENDPOINT_SETTINGS).map(([name, { default: value, min, max, inPlace }]) => [
      name,
      shown(value),
      min === undefined ? '' : shown(min),
      max === undefined ? '' : shown(max),
      inPlace ? 'yes' : '',
    ]),
  );
});

t.test('GPU pools', async (t) => {
  t.same(
    tableOf(page, 'GPU types', 'Pool'),
    Object.entries(GPU_POOLS).map(([pool, types]) => [pool, types.join(', ')]),
  );
});

t.test('GraphQL: all fields of Query and Mutation', async (t) => {
  const files = execFileSync('git', ['ls-files', 'facades/graphql/*.graphql'], { cwd: root, encoding: 'utf8' })
    .trim()
    .split('\n');
  const schema = files.map((file) => readFileSync(join(root, file), 'utf8')).join('\n');
  for (const [kind, shown] of tableOf(page, 'GraphQL operations', 'Kind')) {
    const bodies = [...schema.matchAll(new RegExp(`extend type ${kind} \\{([^]*?)\\n\\}`, 'g'))].map(
      (match) => match[1]!,
    );
    const fields = bodies.flatMap((body) => [...body.matchAll(/^ {2}(\w+)[(:]/gm)].map((match) => match[1]!));
    t.ok(fields.length > 5);
    t.same([...shown!.matchAll(/\w+/g)].map(([name]) => name).sort(), fields.sort(), kind!);
  }
});

t.test('command line: all commands, all exit codes', async (t) => {
  const help = execFileSync(process.execPath, [join(root, 'cli/slipway.mjs'), '--help'], { encoding: 'utf8' });
  // Groups of lines such as "  cancel, retry      all jobs of an endpoint", each under its heading.
  const groups = [...help.split('\nOptions of every command:')[0]!.matchAll(/^([A-Z][^:\n]*):\n((?: {2}.+\n?)+)/gm)];
  t.ok(groups.length > 2);
  const listed = groups.map(([, heading, lines]) => [
    heading,
    [...lines!.matchAll(/^ {2}([a-z, -]+?) {2,}/gm)]
      .flatMap(([, names]) => names!.split(', '))
      .filter((name) => name !== 'help')
      .join(', '),
  ]);
  t.same(
    tableOf(page, 'Command line', 'Commands').map(([heading, names]) => [heading, names!.replaceAll('`', '')]),
    listed,
  );
  t.same(
    tableOf(page, 'Command line', 'Exit code').map(([code]) => Number(code)),
    Object.values(EXIT),
  );
});
