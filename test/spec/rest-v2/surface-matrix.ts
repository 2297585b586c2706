/** The same resource on each surface: REST v1, REST v2, GraphQL and the command line. */
import assert from 'node:assert/strict';
import type { Test } from 'tap';
import { commandLine } from '../../cli/command-line.ts';
import type { System } from '../../helpers/system/system.ts';
import { surfacesOf } from './surfaces.ts';

const SURFACES = ['v1', 'v2', 'graphql', 'cli'] as const;
export type Json = Record<string, unknown>;

/** What one surface can do with a resource. A surface without an operation leaves it out. */
interface Way<Value> {
  create?(value: Value): Promise<string>;
  change?(id: string, value: Value): Promise<unknown>;
  /** Undefined: there is none. */
  read(id: string): Promise<Value | undefined>;
  remove?(id: string, value: Value): Promise<unknown>;
}

/** A kind of resource on its surfaces. */
export interface Resource<Value> {
  /** Returns other values for each number. */
  value(n: number): Value;
  ways: Partial<Record<(typeof SURFACES)[number], Way<Value>>>;
}

export type Surfaces = ReturnType<typeof allSurfaces>;

/** Returns the calls of each surface. Each fails unless it is answered as wanted. */
export function allSurfaces(t: Test, system: System) {
  const { v1, v2, graphql } = surfacesOf(system);
  const cli = commandLine(t, { SLIPWAY_CORE_ADDRESS: system.cores[0]!.address, SLIPWAY_API_KEY: system.key });
  const asked = async (query: string, field: string): Promise<Json | null> =>
    ((await graphql(query)) as unknown as Record<string, Json | null>)[field]!;
  return {
    v1,
    v2,
    graphql,
    cli,
    /** Returns the body of a GET, undefined with 404. */
    seen: async (path: string): Promise<Json | undefined> => {
      const { status, json, text } = await system.request('GET', path);
      if (status === 404) return undefined;
      assert.equal(status, 200, text);
      return json as unknown as Json;
    },
    /** Returns one field of a GraphQL answer. */
    asked,
    /** Returns the id that a mutation answers. */
    made: async (mutation: string, field: string): Promise<string> =>
      String((await asked(`mutation { ${mutation} { id } }`, field))!['id']),
    /** Returns the document of a command, undefined if there is no such thing. */
    shown: async (...args: string[]): Promise<Json | undefined> => {
      const { code, stdout, stderr } = await cli.run('--json', ...args);
      if (code === 0) return JSON.parse(stdout) as Json;
      assert.match(stderr, /NOT_FOUND|There is no/);
      return undefined;
    },
    /** Returns an entry of the list that a command prints. */
    listed: async (id: string, ...args: string[]): Promise<Json | undefined> =>
      (await cli.json<Json[]>(...args)).find((each) => each['id'] === id),
    /** Returns the document of a command that reads its stdin. */
    piped: async (stdin: string, ...args: string[]): Promise<Json> => {
      const { code, stdout, stderr } = await cli.runWith(stdin, '--json', ...args);
      assert.equal(code, 0, stderr);
      return JSON.parse(stdout) as Json;
    },
  };
}

/** Returns the members that a value has, from an answer that has other names for them. */
export function picked<Value>(
  from: Json | null | undefined,
  names: NoInfer<{ [Name in keyof Value]: string }>,
): Value | undefined {
  if (!from) return undefined;
  return Object.fromEntries(Object.entries<string>(names).map(([name, theirs]) => [name, from[theirs]])) as Value;
}

/** Returns the id of an answer. */
export async function idOf(answer: Promise<unknown>): Promise<string> {
  return ((await answer) as { id: string }).id;
}

/** Returns variables as GraphQL's inputs have them. */
export function pairs(env: Record<string, string>): string {
  const each = Object.entries(env).map(([key, value]) => `{ key: "${key}", value: ${JSON.stringify(value)} }`);
  return `[${each.join(', ')}]`;
}

/** Makes one on each surface that can. After it, and after each change, all surfaces must read the same. */
export async function checkMatrix<Value extends object>(t: Test, { value, ways }: Resource<Value>): Promise<void> {
  const all = SURFACES.flatMap((surface) => (ways[surface] ? [[surface, ways[surface]] as const] : []));
  const removers = all.filter(([, { remove }]) => remove);
  let n = 0;
  for (const [maker, { create }] of all) {
    if (!create) continue;
    n += 1;
    let now = value(n);
    const id = await create(now);
    const same = async (how: string): Promise<void> => {
      for (const [reader, { read }] of all) t.same(await read(id), now, `${how}, read by ${reader}`);
    };
    await same(`made by ${maker}`);
    for (const [changer, { change }] of all) {
      if (!change) continue;
      n += 1;
      now = value(n);
      await change(id, now);
      await same(`made by ${maker}, changed by ${changer}`);
    }
    const [remover, { remove }] = removers[n % removers.length]!;
    await remove!(id, now);
    for (const [reader, { read }] of all)
      t.equal(await read(id), undefined, `made by ${maker}, deleted by ${remover}, read by ${reader}`);
  }
  t.ok(n > all.length, 'it was made and changed');
}
