/** Checks that pages of other origins can call a load-balancing endpoint, through a facade and through an edge. */
import type { Test } from 'tap';
import { lbEndpoint } from '../system/lb-endpoint.ts';
import type { System } from '../system/system.ts';

/** Checks preflight requests. `endpointId`: an endpoint with a ready worker. */
export async function checkPreflight(t: Test, system: System, url: string, endpointId: string): Promise<void> {
  const asking = {
    origin: 'https://page.example',
    'access-control-request-method': 'PUT',
    'access-control-request-headers': 'authorization,content-type',
  };
  const cold = await lbEndpoint(system);
  const auth = { authorization: `Bearer ${system.key}` };
  const seen = async (): Promise<string> => (await fetch(`${url}/v2/${endpointId}/seen`, { headers: auth })).text();
  const answers: string[] = [];
  for (const path of [`/v2/${endpointId}/preflight`, `/v2/${cold}/preflight`, '/v2/nosuchendpoint/preflight']) {
    const answer = await fetch(`${url}${path}`, { method: 'OPTIONS', headers: asking });
    answers.push(
      [
        answer.status,
        ...['origin', 'methods', 'headers', 'max-age'].map(
          (name) => answer.headers.get(`access-control-allow-${name}`) ?? answer.headers.get(`access-control-${name}`),
        ),
        await answer.text(),
      ].join(' '),
    );
  }
  t.same(
    answers,
    Array.from({ length: 3 }, () => '204 * PUT authorization,content-type 600 '),
    'the same for each, so that nobody learns which there are',
  );
  t.notMatch(await seen(), 'OPTIONS /preflight', 'no worker sees it');
  const { workers } = (await (await fetch(`${url}/v2/${cold}/health`, { headers: auth })).json()) as {
    workers: Record<string, number>;
  };
  t.same(
    Object.values(workers).filter((count) => count > 0),
    [],
    'and none is started',
  );
  const headers = { origin: asking.origin, authorization: 'Bearer rpa_unknown' };
  const refused = await fetch(`${url}/v2/${endpointId}/x`, { headers });
  t.match(
    [refused.status, refused.headers.get('access-control-allow-origin')],
    [401, '*'],
    'a page may read why it was refused',
  );
  const own = await fetch(`${url}/v2/${endpointId}/own`, { method: 'OPTIONS', headers: { ...asking, ...auth } });
  t.match(
    [own.status, await own.json()],
    [200, { method: 'OPTIONS', url: '/own' }],
    'with a key it is a request as any other',
  );
}
