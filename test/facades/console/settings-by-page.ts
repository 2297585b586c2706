/** Endpoints made, changed and copied over the console's own routes. */
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import type { Test } from 'tap';
import type { System } from '../../helpers/system/system.ts';

interface PageParts extends Pick<System, 'newKey'> {
  /** Sends a request as the page does. */
  ask: (path: string, init?: RequestInit) => Promise<Response>;
  /** Cookie of a session that may change everything. */
  pair: string;
  signIn: (key: string) => Promise<{ pair: string }>;
}

export async function settingsByPage(t: Test, { ask, pair, signIn, newKey }: PageParts): Promise<void> {
  const send = async (method: string, path: string, body: object, cookie = pair) => {
    const answer = await ask(path, { method, headers: { cookie }, body: JSON.stringify(body) });
    return { status: answer.status, ...((await answer.json()) as { id: string; error: string }) };
  };
  const settings = { name: 'by page', workersMax: 0, retryLimit: 0, executionTimeoutMs: 90_000 };
  const template = { imageName: 'registry.example/me/a:1', env: { A: 'one', B: '{{ RUNPOD_SECRET_b }}' } };
  const body = { settings, template, requestId: 'once' };
  const { id } = await send('POST', '/api/endpoints', body);
  t.match(await send('POST', '/api/endpoints', body), { status: 200, id }, 'sent twice it is made once');
  const read = async (of = id, cookie = pair) =>
    (await ask(`/api/endpoints/${of}/settings`, { headers: { cookie } })).json();
  const values = { imageName: template.imageName, env: template.env };
  t.match(await read(), { settings, template: { isOwn: true, values } });
  const { pair: reader } = await signIn(await newKey(KeyScope.READ_ONLY));
  t.match(await read(id, reader), { template: { values: { env: { A: '***', B: '{{ RUNPOD_SECRET_b }}' } } } });
  const path = `/api/endpoints/${id}/settings`;
  t.match(await send('PATCH', path, { template: { env: { A: '***' } } }), {
    status: 400,
    error: /A is \*\*\*, which/,
  });
  for (const [wrong, why] of [
    [{ settings: { workersMax: '1' } }, /"workersMax" has a value of the wrong type/],
    [{ settings: { scalerType: 'toString' } }, /"scalerType" .* is one of QUEUE_DELAY/],
    [{ settings: { constructor: 1 } }, /no setting "constructor"/],
    [{ settings: { flashBootStandby: 'HOST' } }, /flashBootStandby is HOST, but without FlashBoot/],
    [{ template: { readme: 'x' } }, /no setting "readme"/],
    [{ template: { env: { A: 1 } } }, /"env" has a value of the wrong type/],
    [{ template: [] }, /must be a JSON object/],
  ] as const)
    t.match(await send('PATCH', path, wrong), { status: 400, error: why }, JSON.stringify(wrong));
  t.match(await send('PATCH', path, { settings: { workersMin: 0 } }, reader), { status: 401 });
  t.equal((await send('PATCH', path, { settings: { idleTimeout: 9 }, template: { env: { A: 'two' } } })).status, 200);
  const copied = await send('POST', `/api/endpoints/${id}/duplicate`, { name: 'copy' });
  t.match(await read(copied.id), {
    settings: { name: 'copy', idleTimeout: 9 },
    template: { values: { env: { A: 'two' } } },
  });
  const releases = await (await ask(`/api/endpoints/${id}/releases`, { headers: { cookie: pair } })).json();
  const [latest] = releases as { keyName: string; values: { field: string }[] }[];
  t.equal(latest!.keyName, 'test');
  const change = latest!.values.find(({ field }) => field === 'idleTimeout');
  t.same(change, { field: 'idleTimeout', oldJson: '5', newJson: '9' });
  t.match(await send('POST', `/api/endpoints/${id}/rollback`, { version: 'x' }), { status: 400 });
  t.match(await send('POST', `/api/endpoints/${id}/restart`, {}, reader), { status: 401 });
  t.match(await send('POST', `/api/endpoints/${id}/restart`, {}), { status: 200, id });
}
