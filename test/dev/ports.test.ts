// test: postgres, 10 s
/**
 * Ports that may be lost between the check and the listening: core takes another one and keeps it; the facade says
 * clearly that the user's own port is taken.
 */

import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '@slipway/dev/options';
import { keepPort, portProblem, previousPort } from '@slipway/dev/ports';
import { coreProcess } from '@slipway/dev/processes/core-process';
import { facadeProcess } from '@slipway/dev/processes/facade-process';
import type { ProcessPlan } from '@slipway/dev/processes/supervised-process';
import { SupervisedProcess } from '@slipway/dev/processes/supervised-process';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import type { Test } from 'tap';
import t from 'tap';
import { createDatabase } from '../helpers/db/database.ts';
import { occupy, quietPort } from '../helpers/net/ports.ts';
import { scratch } from '../helpers/scratch.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

const root = join(import.meta.dirname, '../..');

t.setTimeout(600_000);

function supervise<Ready>(t: Test, plan: ProcessPlan<Ready>) {
  const children: ChildProcess[] = [];
  const restarts: string[] = [];
  const noting: ProcessPlan<Ready> = {
    ...plan,
    spawn: async (output) => {
      children.push(await plan.spawn(output));
      return children.at(-1)!;
    },
  };
  const supervised = new SupervisedProcess(noting, {
    clock: systemClock,
    random: systemRandom,
    onEnded: () => {},
    onRestarted: (name) => {
      restarts.push(name);
    },
  });
  t.teardown(() => supervised.stop());
  return { supervised, children, restarts };
}

t.test('the port that is tried first', async (t) => {
  const { path } = await scratch(t);
  const file = path('core.port');
  const [preferred, other] = [await quietPort(), await quietPort()];
  t.equal(await previousPort(file, preferred), preferred);
  keepPort(file, other);
  t.equal(await previousPort(file, preferred), other, 'the same from run to run');
  await occupy(t, other);
  t.match(await portProblem(other), /taken by another program.*--port/);
  t.equal(await previousPort(file, preferred), preferred, 'unless somebody else has it');
  await occupy(t, preferred);
  t.equal(await previousPort(file, preferred), 0, 'and any when both are taken');
  for (const nonsense of ['', 'x', '-1', '70000']) {
    writeFileSync(file, nonsense);
    t.equal(await previousPort(file, preferred), 0, `as with ${JSON.stringify(nonsense)} in the file`);
  }
});

t.test('core whose port is taken after it was chosen', async (t) => {
  const { url } = await createDatabase(t);
  const { folder, path } = await scratch(t);
  const portFile = path('core.port');
  const env = {
    ...process.env,
    SLIPWAY_DATABASE_URL: url,
    SLIPWAY_ROOT_KEY: randomBytes(24).toString('hex'),
    SLIPWAY_SECRET_KEY: randomBytes(32).toString('hex'),
  };
  const plan = () => coreProcess({ root, logDir: folder, portFile, env: () => env });
  const chosen = await quietPort();
  keepPort(portFile, chosen);
  const first = supervise(t, await plan());
  await occupy(t, chosen);
  const address = await first.supervised.start();
  t.equal(first.children.length, 2, 'the first found it taken');
  t.match(address, /^127\.0\.0\.1:\d+$/);
  t.not(address, `127.0.0.1:${chosen}`);
  t.equal(readFileSync(portFile, 'utf8').trim(), address.split(':')[1], 'what it got is kept for the next run');

  for (const round of [1, 2]) {
    process.kill(first.children.at(-1)!.pid!, 'SIGKILL');
    await waitFor('core to be back', () => first.restarts.length === round);
    t.ok(await portProblem(Number(address.split(':')[1])), 'a core that was killed is back on the same port');
  }
  await first.supervised.stop();
  t.equal(await supervise(t, await plan()).supervised.start(), address, 'and so is that of the next run');
});

t.test('core that fails to start for another reason', async (t) => {
  const { folder, path } = await scratch(t);
  const portFile = path('core.port');
  keepPort(portFile, await quietPort());
  const { supervised, children } = supervise(
    t,
    await coreProcess({ root, logDir: folder, portFile, env: () => ({ PATH: process.env.PATH }) }),
  );
  await t.rejects(supervised.start(), {
    message: /core ended with code 2 before it was ready[\s\S]*SLIPWAY_DATABASE_URL/,
  });
  t.equal(children.length, 2, 'is not tried for ever');
});

t.test('a facade whose port is taken', async (t) => {
  const { folder } = await scratch(t);
  const port = await occupy(t);
  const env = () => ({ ...process.env, SLIPWAY_CORE_ADDRESS: '127.0.0.1:1' });
  const { supervised, children } = supervise(t, facadeProcess({ root, logDir: folder, host: '127.0.0.1', port, env }));
  await t.rejects(supervised.start(), {
    constructor: UsageError,
    message: new RegExp(`^Port ${port} is taken by another program\\. .*$`),
  });
  t.equal(children.length, 1, 'it is the only port that will do');
  const free = await quietPort();
  const second = supervise(t, facadeProcess({ root, logDir: folder, host: '127.0.0.1', port: free, env }));
  t.match(await second.supervised.start(), { url: `http://127.0.0.1:${free}` });
});
