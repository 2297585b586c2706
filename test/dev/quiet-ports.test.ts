/** Ports that tests give to programs: files that run at once never get the same one. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { occupy, quietPort } from '../helpers/net/ports.ts';
import { claimNumber } from '../helpers/time/claim-number.ts';

const PROCESSES = 5;
/** More than a range has. */
const PORTS = 120;

const helper = pathToFileURL(join(import.meta.dirname, '../helpers/net/ports.ts')).href;
/** Program that takes ports, prints them, and lives until its input ends. */
const TAKER = `
  const { quietPort } = await import(${JSON.stringify(helper)});
  const ports = [];
  while (ports.length < ${PORTS}) ports.push(await quietPort());
  process.stdout.write(JSON.stringify(ports) + '\\n');
  process.stdin.resume();
`;

t.test(`${PROCESSES} processes that take ${PORTS} ports each at the same time have all different ones`, async (t) => {
  const takers = Array.from({ length: PROCESSES }, () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', TAKER], { stdio: ['pipe', 'pipe', 'inherit'] });
    t.teardown(async () => {
      child.stdin.end();
      if (child.exitCode === null) await once(child, 'exit');
    });
    return child;
  });
  const said = await Promise.all(
    takers.map(async ({ stdout }) => JSON.parse(String((await once(stdout, 'data'))[0])) as number[]),
  );
  t.equal(new Set(said.flat()).size, PROCESSES * PORTS);
});

t.test('a port in use is skipped', async (t) => {
  const port = await quietPort();
  await occupy(t, port + 1);
  t.not(await quietPort(), port + 1);
});

t.test('a port is given once, and exhaustion is reported', async (t) => {
  const name = `test-${process.pid}`;
  t.same((await Promise.all([claimNumber(name, 3), claimNumber(name, 3), claimNumber(name, 3)])).toSorted(), [0, 1, 2]);
  await t.rejects(claimNumber(name, 3), { message: `all 3 ${name} are taken` });
});
