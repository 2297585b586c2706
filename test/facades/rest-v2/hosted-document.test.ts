/** The description of REST v2 has every operation, member, range and answer of the hosted one. */
import { buildFacade } from '@slipway/facades/app';
import { readFacadeConfig } from '@slipway/facades/config';
import { createLogger } from '@slipway/kit/log/logger';
import type { Test } from 'tap';
import t from 'tap';
import { ANSWERS, BODIES, OPERATIONS } from './hosted-document.ts';

interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: string[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  [limit: string]: unknown;
}
interface Description {
  paths: Record<
    string,
    Record<string, { parameters?: { name: string; in: string }[]; responses: Record<string, object> }>
  >;
  components: { schemas: Record<string, Schema> };
}

const facade = buildFacade(readFacadeConfig({ SLIPWAY_CORE_ADDRESS: '127.0.0.1:1', SLIPWAY_HTTP_PORT: '0' }), {
  logger: createLogger('test', 'silent'),
});
const { url } = await facade.start();
t.teardown(() => facade.stop());
const { paths, components } = (await (await fetch(`${url}/v2/openapi.json`)).json()) as Description;

/** Returns a schema and all that it is one of. */
function branches(schema: Schema): Schema[] {
  const own = schema.$ref ? components.schemas[schema.$ref.split('/').at(-1)!]! : schema;
  return [own, ...[...(own.oneOf ?? []), ...(own.anyOf ?? [])].flatMap(branches)];
}

/** Returns the member of a schema, and whether it is required there. A list is stepped over. */
function memberOf(schema: Schema, name: string): { member: Schema; isRequired: boolean } | undefined {
  const all = branches(schema).flatMap((each) => (each.items ? branches(each.items) : [each]));
  const holder = all.find(({ properties }) => properties?.[name]);
  return holder && { member: holder.properties![name]!, isRequired: holder.required?.includes(name) ?? false };
}

/** Returns the types of a schema, in order. */
function typesOf(schema: Schema): string[] {
  const types = branches(schema).flatMap(({ type, enum: words }) => type ?? (words ? ['string'] : []));
  return [...new Set(types.flat())].sort();
}

const LIMITS: Readonly<Record<string, [min: string, max: string]>> = {
  array: ['minItems', 'maxItems'],
  string: ['minLength', 'maxLength'],
  integer: ['minimum', 'maximum'],
  number: ['minimum', 'maximum'],
};

/** Calls `check` with each member of a shape: its path, our schema of it, and what the hosted document says of it. */
function eachMember(
  t: Test,
  name: string,
  shape: string,
  check: (
    path: string,
    ours: { member: Schema; isRequired: boolean },
    hosted: { required: boolean; words: string[] },
  ) => void,
): void {
  const root = components.schemas[name];
  t.ok(root, name);
  for (const line of shape
    .split(';')
    .map((text) => text.trim())
    .filter((text) => text !== '')) {
    const [, path, mark, says] = /^([\w.]+)(!?): (.+)$/.exec(line)!;
    const steps = path!.split('.');
    const last = steps.pop()!;
    let holder: Schema | undefined = root;
    for (const step of steps) holder = holder && memberOf(holder, step)?.member;
    const ours = holder && memberOf(holder, last);
    t.ok(ours, `${name}.${path} is there`);
    if (ours) check(`${name}.${path}`, ours, { required: mark === '!', words: says!.split(' ') });
  }
}

t.test('every operation, its statuses and the names of its query', async (t) => {
  for (const [operation, { statuses, query }] of Object.entries(OPERATIONS)) {
    const [method, path] = operation.split(' ') as [string, string];
    const found = Object.entries(paths).find(([each]) => each.replaceAll(/\{\w+\}/g, '{}') === path)?.[1];
    const ours = found?.[method.toLowerCase()];
    t.ok(ours, operation);
    const has = ours?.parameters?.filter((each) => each.in === 'query').map(({ name }) => name) ?? [];
    t.same(
      query.filter((name) => !has.includes(name)),
      [],
      `${operation}: its query`,
    );
    t.same(
      statuses.filter((status) => !ours?.responses[status]),
      [],
      `${operation}: its statuses`,
    );
  }
});

t.test('bodies: every member, required as there, in at least the range there', async (t) => {
  for (const [name, shape] of Object.entries(BODIES)) {
    eachMember(t, name, shape, (path, { member, isRequired }, { required, words: [kind, ...limits] }) => {
      t.equal(isRequired, required, `${path} is required`);
      const [own] = branches(member) as [Schema];
      if (kind!.includes('/'))
        t.same(
          kind!.split('/').filter((word) => !own.enum?.includes(word)),
          [],
          `${path}: words`,
        );
      else t.same(typesOf(member), kind!.split('|').sort(), `${path}: type`);
      const [min, max] = LIMITS[kind!] ?? ['minimum', 'maximum'];
      for (const [limit, value] of limits.map((text) => text.split('=') as [string, string])) {
        const ours = own[limit === 'min' ? min : max] as number | undefined;
        if (limit === 'min') t.ok((ours ?? 0) <= Number(value), `${path}: at least ${ours}`);
        if (limit === 'max') t.ok((ours ?? Infinity) >= Number(value), `${path}: at most ${ours}`);
      }
    });
  }
});

t.test('answers: every member, there when it is there, and of no other type', async (t) => {
  for (const [name, shape] of Object.entries(ANSWERS)) {
    eachMember(t, name, shape, (path, { member, isRequired }, { required, words: [kind] }) => {
      if (required) t.ok(isRequired, `${path} is always there`);
      const others = kind!.includes('/')
        ? (branches(member)[0]!.enum ?? ['no words']).filter((word) => !kind!.split('/').includes(word))
        : typesOf(member).filter((type) => !kind!.split('|').includes(type));
      t.same(others, [], `${path}: nothing else`);
    });
  }
});
