// test: postgres, 15 s
/**
 * A reader of a pod's log while processes are killed. A killed core costs no line. A killed agent's log is lost with
 * it, and the whole log of the next agent is read.
 */
import { rmSync } from 'node:fs';
import t from 'tap';
import type { SseEvent } from '../../helpers/calls/sse.ts';
import { readEvents } from '../../helpers/calls/sse.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { scratch } from '../../helpers/scratch.ts';
import { startProcesses } from '../../helpers/system/processes.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

t.test('the log of a pod follows over a killed core and a killed agent', async (t) => {
  const slipway = await startProcesses(t);
  await waitFor(
    'a machine to join',
    async () => (await call(slipway.clients.machines, 'listMachines', {}, slipway.rootKey)).machines.length > 0,
  );
  const files = await scratch(t);
  // The next line is written on demand, so that the second log is shorter than the first.
  const script =
    `echo first line of a long log; n=1; while true; do n=$((n+1)); while [ ! -e ${files.path('go')}$n ]; do ` +
    'sleep 0.05; done; echo line $n; done';
  const { status, json } = await slipway.request('POST', '/v1/pods', {
    name: 'box',
    computeType: 'CPU',
    dockerStartCmd: ['sh', '-c', script],
  });
  t.equal(status, 201);
  const lineOf = (event: SseEvent | undefined): string => (JSON.parse(event!.data) as { line: string }).line;
  const feed = await waitFor('its machine to know it', async () => {
    const opened = await readEvents(t, slipway, `/v2/pods/${json.id}/logs?source=container`);
    return opened.status === 200 && opened;
  });
  t.equal(lineOf(await feed.next()), 'first line of a long log');
  await slipway.cores[0]!.kill();
  files.open('go2');
  await slipway.cores[0]!.start();
  t.equal(lineOf(await feed.next()), 'line 2', 'what was written while core was away');
  files.open('go3');
  t.equal(lineOf(await feed.next()), 'line 3');
  for (const name of ['go2', 'go3']) rmSync(files.path(name));
  await slipway.agents[0]!.kill();
  await slipway.agents[0]!.start();
  t.equal(
    lineOf(await feed.next()),
    'first line of a long log',
    'the first of the new log, which is shorter than the one before was',
  );
  files.open('go2');
  t.equal(lineOf(await feed.next()), 'line 2');
  feed.close();
});
