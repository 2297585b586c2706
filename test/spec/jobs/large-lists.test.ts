// test: 30 s
/**
 * Many lists of large things at once: all are answered whole, core and facade hold pages of them, and other accounts do
 * not wait.
 */
import { readFile } from 'node:fs/promises';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { startProcesses } from '../../helpers/system/processes.ts';
import type { Answer } from '../../helpers/system/public-api.ts';
import { publicRequest } from '../../helpers/system/public-api.ts';
import { seededRandom } from '../../helpers/time/seeded-random.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const random = seededRandom();
const TEMPLATES = 32;
const LISTS = 24;
const VALUES = 120;
const VALUE_BYTES = 2_000;
const MIB = 1024 * 1024;
/**
 * More than core may grow by: a few pages, and what the collector leaves lying, since it collects seldom for buffers
 * (kit/host/node-settings.ts): 12 MiB here. The lists together have 184 MB, and twice that as text.
 */
const GROWTH_BYTES_MAX = 120 * MIB;

t.setTimeout(600_000);
const system = await startProcesses(t, { agents: 0 });

async function memoryOf(pid: number): Promise<{ now: number; peak: number }> {
  const text = await readFile(`/proc/${pid}/status`, 'utf8');
  const bytes = (field: string): number => Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(text)![1]) * 1024;
  return { now: bytes('VmRSS'), peak: bytes('VmHWM') };
}

function large(i: number): Template {
  const env = Object.fromEntries(
    Array.from({ length: VALUES }, (_, k) => [`NAME_${k}`, random.bytes(VALUE_BYTES / 2).toString('hex')]),
  );
  return Template.fromPartial({ name: `t${i}`, imageName: 'image', startCommand: ['true'], serverless: true, env });
}

function small(i: number): Template {
  return Template.fromPartial({ name: `small ${i}`, imageName: 'image', startCommand: ['true'], serverless: true });
}

/** Selects these. */
const SMALL = { search: 'small ', orderBy: '', descending: false, filters: {} };

for (let i = 0; i < TEMPLATES; i += 1)
  await call(system.clients.templates, 'createTemplate', { template: large(i) }, system.key);

t.test('24 concurrent lists of 32 templates with 240 kB of environment', async (t) => {
  const { accountId } = await call(system.clients.access, 'createAccount', { name: 'other' }, system.rootKey);
  const otherKey = (
    await call(
      system.clients.keys,
      'createKey',
      {
        name: 'other',
        scope: KeyScope.ALL,
        endpointIds: [],
        accountId,
        permissions: undefined,
      },
      system.rootKey,
    )
  ).secret;
  const other = publicRequest(system.url, otherKey);
  const before = await memoryOf(system.cores[0]!.pid);
  let answered = 0;
  const lists = Promise.all(
    Array.from({ length: LISTS }, async () => {
      // On a busy machine some lists are rejected as a whole; none is cut.
      const answer = await waitFor(
        'a list',
        async () => {
          const given = await system.request('GET', '/v1/templates');
          if (given.status === 200) return given;
          t.ok(
            [429, 503].includes(given.status) && given.headers.get('retry-after') !== null,
            `${given.status} says when to come again`,
          );
          return undefined;
        },
        200_000,
      );
      answered += 1;
      return check(answer);
    }),
  );
  // Meanwhile another account lists its templates, again and again, up to its rate limit.
  let meanwhile = 0;
  while (answered < LISTS / 2 && meanwhile < 900) {
    t.equal((await other('GET', '/v1/templates')).status, 200);
    meanwhile += answered < LISTS / 2 ? 1 : 0;
  }
  const statuses = await lists;
  t.same(
    statuses.filter((status) => status !== 200),
    [],
    'all are answered',
  );
  t.ok(meanwhile >= 2, `another account had ${meanwhile} answers before half of them`);
  const { peak } = await memoryOf(system.cores[0]!.pid);
  t.comment(`core grew by ${Math.round((peak - before.now) / MIB)} MiB`);
  t.ok(peak - before.now < GROWTH_BYTES_MAX, `core grew by ${Math.round((peak - before.now) / MIB)} MiB`);
});

t.test('24 concurrent GraphQL lists, each with a document of its own', async (t) => {
  const before = await memoryOf(system.cores[0]!.pid);
  const statuses = await Promise.all(
    Array.from({ length: 4 }, async (_, i) => {
      const { status, json } = await system.request('POST', '/graphql', {
        query: `{ a${i}: myself { podTemplates { id env { value } } } }`,
      });
      const { podTemplates } = (
        json as unknown as { data: Record<string, { podTemplates: { env: { value: string }[] }[] }> }
      ).data[`a${i}`]!;
      t.equal(podTemplates.filter(({ env }) => env.length === VALUES).length, TEMPLATES);
      return status;
    }),
  );
  t.same(
    statuses.filter((status) => status !== 200),
    [],
  );
  const { peak } = await memoryOf(system.cores[0]!.pid);
  t.ok(peak - before.now < GROWTH_BYTES_MAX, `core grew by ${Math.round((peak - before.now) / MIB)} MiB`);
});

t.test('one GraphQL document with a long list under many names: whole, or refused', async (t) => {
  const named = (count: number) =>
    system.request('POST', '/graphql', {
      query: `{ ${Array.from({ length: count }, (_, i) => `a${i}: podTemplates { env { value } }`).join(' ')} }`,
    });
  const whole = await named(4);
  t.equal(whole.status, 200);
  const { data } = whole.json as unknown as { data: Record<string, { env: { value: string }[] }[]> };
  t.same(
    Object.values(data).map((list) => list.filter(({ env }) => env.length === VALUES).length),
    [TEMPLATES, TEMPLATES, TEMPLATES, TEMPLATES],
  );
  const refused = await named(20);
  t.equal(refused.status, 400);
  t.match(refused.json, { errors: [{ message: /more than 64 MiB; ask for less in one document/ }] });
});

t.test('gRPC lists are paged', async (t) => {
  const read = (pageSize: number, pageToken: string) =>
    call(system.clients.templates, 'listTemplates', { includePublic: false, pageSize, pageToken }, system.key);
  const pages: string[][] = [];
  let pageToken = '';
  do {
    const page = await read(3, pageToken);
    pages.push(page.templates.map(({ name }) => name));
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  t.same(
    pages,
    Array.from({ length: TEMPLATES }, (_, i) => [`t${i}`]),
    'a long text ends a page',
  );
  const request = { includePublic: false, pageSize: 0, pageToken: '', withoutEnv: true };
  const bare = await call(system.clients.templates, 'listTemplates', request, system.key);
  t.equal(bare.nextPageToken, '', 'without the variables one page has all');
  t.same(
    bare.templates,
    (
      await Promise.all(
        bare.templates.map(({ id }) => call(system.clients.templates, 'getTemplate', { id }, system.key)),
      )
    ).map(({ template }) => ({ ...template, env: {} })),
  );
  for (let i = 0; i < 8; i += 1)
    await call(system.clients.templates, 'createTemplate', { template: small(i) }, system.key);
  const smallOnes = async (pageSize: number, token: string) =>
    call(
      system.clients.templates,
      'listTemplates',
      { includePublic: false, pageSize, pageToken: token, view: SMALL },
      system.key,
    );
  const three = await smallOnes(3, '');
  t.same(
    three.templates.map(({ name }) => name),
    ['small 0', 'small 1', 'small 2'],
  );
  t.equal((await smallOnes(0, three.nextPageToken)).templates.length, 5);
  await t.rejects(read(1_001, ''), { message: /page_size is 1001, but must be from 1 to 1000/ });
  await t.rejects(read(0, 'what'), { message: /page_token is none that a page of this list gave/ });
});

/** Returns the status. Checks a list that came whole. */
function check({ status, json }: Answer): number {
  if (status !== 200) return status;
  const names = (json as unknown as { name: string; env: object }[])
    .filter(({ env }) => Object.keys(env).length === VALUES)
    .map(({ name }) => name);
  t.same(
    names,
    Array.from({ length: TEMPLATES }, (_, i) => `t${i}`),
  );
  return status;
}
