// test: postgres
/**
 * A worker that breaks its link again and again, as fast as it can: its agent's log stays short, and the jobs of others
 * go on.
 */

import { createLogger } from '@slipway/kit/log/logger';
import t from 'tap';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

/** Opens links and writes frames of twelve bytes, of a kind that there is not. */
const BREAKS = `
const { connect } = require('node:net');
const id = process.env.RUNPOD_POD_ID;
const take = process.env.RUNPOD_WEBHOOK_GET_JOB.replaceAll('$RUNPOD_POD_ID', id).replaceAll('$ID', id);
const url = new URL(take.replace('/job-take/', '/job-link/'));
const frame = Buffer.alloc(12); frame.writeUInt32BE(8, 0); frame[8] = 77;
const frames = Buffer.concat(Array.from({ length: 1000 }, () => frame));
function open() {
  const socket = connect(Number(url.port), url.hostname, () => socket.write('GET ' + url.pathname + url.search
    + ' HTTP/1.1\\r\\nhost: x\\r\\nuser-agent: Slipway-Worker/0.1.0\\r\\nconnection: Upgrade\\r\\nupgrade: slipway-worker-1\\r\\n\\r\\n'));
  socket.on('data', () => socket.write(frames));
  socket.on('error', () => {});
  socket.on('close', () => setImmediate(open));
}
for (let i = 0; i < 20; i += 1) open();
`;

t.setTimeout(600_000);
t.test('jobs complete beside a worker that breaks its links', async (t) => {
  const lines: { msg: string }[] = [];
  const logger = createLogger('test', 'info', {
    write: (line: string) => {
      lines.push(JSON.parse(line) as { msg: string });
    },
  });
  const system = await startSystem(t, { logger });
  const others = endpointJobs(system, await system.createEndpoint({ command: jsHandler('all.js') }));
  await system.createEndpoint({ command: [process.execPath, '-e', BREAKS], fields: { workersMin: 1 }, ready: 0 });
  const told = (msg: string): number => lines.filter((line) => line.msg === msg).length;
  await waitFor('a broken link', () => told('a worker violated the protocol of its link') > 0);
  for (let i = 0; i < 20; i += 1) t.match(await others.runSync({ mode: 'value', value: i }), { status: 'COMPLETED' });
  t.ok(told('a worker violated the protocol of its link') <= 40, 'those that were open at once, and no more');
  t.equal(told('a call of a worker failed'), 0);
});
