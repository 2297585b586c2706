/** Models from a hub: interrupted, wrong, silent, gated, shared, and what is left when an agent dies. */
import { readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CachedModelState, ModelFault } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { startModelHub } from '../../helpers/net/model-hub.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { openModels } from './make-models.ts';

const LARGE = 'model.safetensors';
const weights = (size = 400_000, letter = 'w'): Buffer => Buffer.alloc(size, letter);
/** Returns a repository of a small file and a large one. */
const model = (content = weights()) => ({
  files: { 'config.json': '{"a":1}', 'sub/notes.txt': 'n', [LARGE]: content },
  large: [LARGE],
});

t.test("a model is stored in the hub's layout, under the commit of its revision", async (t) => {
  const hub = await startModelHub(t);
  const commit = hub.push('lab/tiny', model());
  const machine = await openModels(t.testdir({}), { hubAddress: hub.address });
  const record = await machine.bring('lab/tiny');
  t.match(record, { repository: 'lab/tiny', commit, accountNumber: 0, imported: false });
  t.same(machine.settled, [commit], 'core was asked for the commit');
  const { hubPath } = machine.store.folderOf(record);
  t.match(hubPath, /\/models--lab--tiny$/);
  const snapshot = join(hubPath, 'snapshots', commit);
  t.same(readFileSync(join(snapshot, LARGE)), weights());
  t.match(
    readlinkSync(join(snapshot, 'sub/notes.txt')),
    /^\.\.\/\.\.\/\.\.\/blobs\/[0-9a-f]{40}$/,
    'links are relative',
  );
  t.equal(readFileSync(join(hubPath, 'refs/main'), 'utf8'), commit);
  t.equal(statSync(join(snapshot, LARGE)).mode & 0o777, 0o444);
  t.match(machine.lines.join('\n'), /downloading lab\/tiny: 100 % of 400 kB/);
  t.ok(await machine.store.use('worker', record, 'main'));
  t.match(machine.status.report(machine.store.ready()), [
    { repository: 'lab/tiny', revision: 'main', commit, state: CachedModelState.READY, accountNumber: 0 },
  ]);

  const before = hub.requests.length;
  await machine.bring('lab/tiny', { commit });
  t.equal(hub.requests.length, before, 'a known commit that is there needs no hub');
  t.equal(machine.settled.length, 1, 'and no core');
});

t.test('an interrupted download is resumed, also by another agent', async (t) => {
  const hub = await startModelHub(t);
  const commit = hub.push('lab/tiny', model());
  hub.fail({ path: LARGE, cutAfter: 150_000, times: 1 });
  const folder = t.testdir({});
  const machine = await openModels(folder, { hubAddress: hub.address });
  await machine.bring('lab/tiny', { commit });
  t.equal(hub.sentBytes, 400_000 + 8, 'no byte was sent twice');
  t.ok(hub.requests.some(({ range }) => range === 'bytes=150000-'));

  await t.test('the agent dies during a download', async (t) => {
    const next = hub.push('lab/tiny', model(weights(400_000, 'x')));
    hub.fail({ path: LARGE, silentAfter: 100_000, times: 1 });
    const dying = new AbortController();
    const lost = machine.bring('lab/tiny', { commit: next }, dying.signal).catch((error: Error) => error);
    const partial = machine.store.folderOf({ repository: 'lab/tiny', commit: next, accountNumber: 0 });
    await waitFor('a part', async () => (await partial.contents()).some(({ bytes }) => bytes === 100_000));
    const other = await openModels(folder, { hubAddress: hub.address });
    t.same(
      other.store.ready().map((record) => record.commit),
      [commit],
      'a part is not shown',
    );
    dying.abort(new Error('it died'));
    t.match(await lost, { message: 'it died' });
    const before = hub.sentBytes;
    await other.bring('lab/tiny', { commit: next });
    t.equal(hub.sentBytes - before, 300_000, 'small files are shared with the other commit');
  });
});

t.test('content that differs from its digest is never used', async (t) => {
  const hub = await startModelHub(t);
  const commit = hub.push('lab/tiny', model());
  const machine = await openModels(t.testdir({}), { hubAddress: hub.address });
  hub.fail({ path: LARGE, corrupt: true });
  const failure = await machine.fails('lab/tiny');
  t.match(failure, { fault: 'CORRUPT', message: /model.safetensors of lab\/tiny differs from its digest/ });
  t.equal(hub.sentBytes, 3 * 400_000 + 8, 'it was tried three times');
  const folder = machine.store.folderOf({ repository: 'lab/tiny', commit, accountNumber: 0 });
  t.notOk(
    readdirSync(join(folder.hubPath, 'blobs')).some((name) => statSync(join(folder.hubPath, 'blobs', name)).size > 10),
  );
  t.match(machine.status.report([]), [{ state: CachedModelState.FAILED, fault: ModelFault.CORRUPT, revision: 'main' }]);
  hub.heal();
  await machine.bring('lab/tiny');
  t.match(machine.status.report(machine.store.ready()), [{ state: CachedModelState.READY }]);

  await t.test('a longer content does not fill the disk', async (t) => {
    hub.push('lab/longer', model(weights(5_000, 'l')));
    hub.fail({ path: LARGE, longer: true });
    t.match(await machine.fails('lab/longer'), { fault: 'CORRUPT' });
    t.equal(machine.store.ready().length, 1);
  });
});

t.test('a hub that is busy, silent or away', async (t) => {
  const hub = await startModelHub(t);
  hub.push('lab/tiny', model());
  const folder = t.testdir({});
  const machine = await openModels(folder, { hubAddress: hub.address, silenceMs: 300 });
  hub.fail({ path: LARGE, status: 503, times: 1 });
  hub.fail({ path: LARGE, status: 429, retryAfter: 0, times: 1 });
  hub.fail({ path: LARGE, silentAfter: 1_000, times: 1 });
  await machine.bring('lab/tiny');
  t.match(machine.lines.join('\n'), /answers 503; trying again/);
  t.match(machine.lines.join('\n'), /sent nothing for 0.3 s; trying again/);

  hub.setAway(true);
  t.match(await machine.fails('lab/other'), { fault: 'UNREACHABLE', message: /could not be downloaded from 127/ });
  const record = await machine.store.use('w', machine.store.ready()[0]!, 'main').then(() => machine.bring('lab/tiny'));
  t.equal(record.repository, 'lab/tiny', 'what is here serves while the hub is away');
});

t.test('workers that wait for one model share its download', async (t) => {
  const hub = await startModelHub(t);
  const commit = hub.push('lab/tiny', model());
  const machine = await openModels(t.testdir({}), { hubAddress: hub.address });
  const endpoints = ['a', 'b', 'c', 'c'];
  await Promise.all(endpoints.map((endpointId) => machine.bring('lab/tiny', { endpointId })));
  t.equal(hub.sentBytes, 400_008);

  await t.test('it ends when no worker needs it any more', async (t) => {
    hub.push('lab/slow', model(weights(500_000, 's')));
    hub.fail({ path: LARGE, silentAfter: 1_000 });
    const [one, two] = [new AbortController(), new AbortController()];
    const both = [one, two].map(({ signal }) => machine.bring('lab/slow', {}, signal).catch((error: Error) => error));
    await waitFor('its beginning', () => hub.requests.some(({ url }) => url.length === 65 && hub.sentBytes > 401_000));
    one.abort(new Error('one'));
    t.match(await both[0], { message: 'one' });
    t.match(machine.status.report([]), [{ state: CachedModelState.DOWNLOADING, repository: 'lab/slow' }]);
    two.abort(new Error('two'));
    await both[1];
    await waitFor('the end', () => machine.status.report([]).length === 0);
    hub.heal();
    await machine.bring('lab/slow');
  });
  t.equal(machine.store.ready().length, 2);
  t.ok(machine.store.find({ repository: 'lab/tiny', commit, accountNumber: 0 }));
});

t.test('tokens', async (t) => {
  const hub = await startModelHub(t);
  const token = 'hf_own';
  const gated = hub.push('lab/gated', { ...model(), token });
  hub.push('lab/hidden', { ...model(weights(10, 'h')), token, hidden: true });
  hub.push('lab/open', model(weights(10, 'o')));
  const machine = await openModels(t.testdir({}), { hubAddress: hub.address });
  t.match(await machine.fails('lab/gated'), {
    fault: 'FORBIDDEN',
    message: /set HF_TOKEN in the endpoint's environment/,
  });
  t.match(await machine.fails('lab/hidden'), { fault: 'FORBIDDEN' });
  t.match(await machine.fails('lab/gated', { hubToken: 'hf_wrong' }), {
    fault: 'FORBIDDEN',
    message: /accept its terms/,
  });
  t.match(await machine.fails('lab/none', { hubToken: token }), {
    fault: 'NOT_FOUND',
    message: /no model lab\/none with the revision main/,
  });

  hub.requests.splice(0);
  await machine.bring('lab/open', { hubToken: token });
  t.notOk(
    hub.requests.some((request) => request.token !== ''),
    'a public model is asked for without it',
  );
  for (const name of ['lab/gated', 'lab/hidden'])
    t.match(await machine.bring(name, { hubToken: token, accountNumber: 7 }), { accountNumber: 7 });
  const own = new URL(hub.address).host;
  t.notOk(
    hub.requests.some(({ host, token }) => host !== own && token !== ''),
    'no other host sees a token',
  );

  const other = await machine.fails('lab/gated', { commit: gated, accountNumber: 8 });
  t.match(other, { fault: 'FORBIDDEN' }, "another account does not get it from this machine's disk");
  t.match(await machine.bring('lab/gated', { commit: gated, accountNumber: 7 }), { accountNumber: 7 });
});

t.test('a connection that trickles is given up', async (t) => {
  const hub = await startModelHub(t);
  const commit = hub.push('lab/tiny', model());
  const machine = await openModels(t.testdir({}), { hubAddress: hub.address, silenceMs: 300 });
  hub.fail({ path: LARGE, trickleAfter: 100_000, times: 1 });
  await machine.bring('lab/tiny', { commit });
  t.match(machine.lines.join('\n'), /sent less than 64 KiB in 0\.3 s; trying again/);
  t.equal(hub.sentBytes - (hub.sentBytes % 100_000), 400_000, 'it continued behind what had come');

  const next = hub.push('lab/tiny', model(weights(400_000, 'y')));
  hub.fail({ path: LARGE, trickleAfter: 1 });
  t.match(await machine.fails('lab/tiny', { commit: next }), { fault: 'UNREACHABLE', message: /64 KiB/ });
});

t.test('names that escape the folder', async (t) => {
  const hub = await startModelHub(t);
  const machine = await openModels(t.testdir({}), { hubAddress: hub.address });
  for (const path of ['../evil', '/etc/evil', 'a/../../evil', 'a//b', 'a\\b', '.'])
    t.match(await machine.fails(`lab/evil${hub.push('lab/evil', { files: { [path]: 'x' } }) && ''}`), {
      fault: 'NOT_FOUND',
      message: /cannot be the name of a file/,
    });
  hub.push('lab/twice', { files: { a: 'x', 'a/b': 'y' } });
  t.match(await machine.fails('lab/twice'), { message: /a is a file and a folder/ });
  hub.push('lab/empty', { files: {} });
  t.match(await machine.fails('lab/empty'), { message: /it has no files/ });
  for (const repository of ['../x', 'a/b/c', 'a--b/c', '/etc', 'a/..', ''])
    t.match(await machine.fails(repository), { fault: 'NOT_FOUND', message: /cannot be the name of a model/ });
  for (const revision of ['../x', '/x', 'a..b', ''])
    t.match(await machine.fails('lab/x', { revision }), { message: /cannot be the name of a model/ });
  t.same(machine.store.ready(), []);
});

t.test('other files in the folder are left alone', async (t) => {
  const hub = await startModelHub(t);
  const folder = t.testdir({ models: { 'lost+found': {}, 'models--x': {} } });
  const record = '{"repository":"lab/tiny","files":[{"path":"../x"}]}';
  writeFileSync(join(folder, 'models/file'), record);
  const machine = await openModels(folder, { hubAddress: hub.address });
  t.same(machine.store.ready(), []);
  t.same(readdirSync(join(folder, 'models')).sort(), ['file', 'lost+found', 'models--x'].concat('.pins').sort());
});
