// test: postgres, 10 s
/** `slipway times` and `slipway errors` of a load-balancing endpoint: its requests. */
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { lbClient, lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { commandLine } from '../command-line.ts';

t.setTimeout(300_000);

t.test('requests of a load-balancing endpoint', async (t) => {
  const system = await startSystem(t);
  const endpointId = await lbEndpoint(system, { name: 'balanced' });
  const cli = commandLine(t, { SLIPWAY_CORE_ADDRESS: system.cores[0]!.address, SLIPWAY_API_KEY: system.key });
  t.match(await cli.run('times', 'balanced'), { code: 0, stdout: '', stderr: 'No request ended in this time.\n' });
  t.match(await cli.run('errors', 'balanced'), { code: 0, stdout: '', stderr: 'No request failed in this time.\n' });
  const { at } = lbClient(system);
  for (const status of [200, 404, 503])
    t.equal((await at(endpointId, `/say?status=${status}&type=text%2Fplain&bytes=eA%3D%3D`)).status, status);
  const stats = () => call(system.clients.endpoints, 'getRequestStats', { endpointId, spanMs: 0 }, system.key);
  await waitFor('all of them', async () => ((await stats()).total?.requests ?? 0) >= 3);
  const times = await cli.run('times', 'balanced', '--since', '10m');
  t.match(times, {
    code: 0,
    stdout: /^FROM +REQUESTS +4XX +ERRORS +LEFT +P50 +P95 +P99\n\d{4}-[^]*\nall +3 +1 +1 +0 +\d/,
  });
  t.match(await cli.json('times', 'balanced'), {
    total: { requests: 3, clientErrors: 1, serverErrors: 1 },
    steps: [{}],
  });
  for (const command of ['errors', 'times'])
    t.match(await cli.run(command, 'balanced', '--since', '1d'), {
      code: 2,
      stderr: 'error: --since must be from 1m to 12h for a load-balancing endpoint.\n',
    });
  const errors = await cli.run('errors', 'balanced');
  t.match(errors, {
    code: 0,
    stdout: /^WHEN +STATUS +TOOK +WORKER +REQUEST\n.* 503 +[\d.]+ m?s +\w{14} +GET \/say\?…\n$/,
  });
  t.match(await cli.json('errors', 'balanced'), { requests: 3, errors: 1, failed: [{ status: 503, path: '/say' }] });
  t.match(await cli.run('errors', 'balanced', '--retry', '5d41402abc4b2a76'), {
    code: 2,
    stderr: /--retry is for jobs/,
  });
});
