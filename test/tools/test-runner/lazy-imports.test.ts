// test: python, 10 s
/**
 * The Pythons of tests: what a worker does not use is not loaded at its start, and is all there once something of it is
 * used.
 */
import { execFileSync } from 'node:child_process';
import t from 'tap';
import { PYTHONS, skipWithoutPython } from '../../helpers/system/handlers.ts';

const PROGRAM = `
import sys, runpod
print("fastapi" in sys.modules, "paramiko.transport" in sys.modules)
from runpod.serverless.modules import rp_fastapi
import paramiko
print(rp_fastapi.WorkerAPI.__name__, paramiko.RSAKey.__name__, "fastapi" in sys.modules, "paramiko.transport" in sys.modules)
`;

for (const which of ['new', 'old'] as const) {
  const isOthers =
    process.env[`SLIPWAY_TEST_PYTHON_${which.toUpperCase()}`] !== undefined && 'this Python was not made for tests';
  t.test(`the ${which} SDK`, { skip: skipWithoutPython(which) || isOthers }, async (t) => {
    t.equal(
      execFileSync(PYTHONS[which], ['-c', PROGRAM], { encoding: 'utf8' }),
      'False False\nWorkerAPI RSAKey True True\n',
    );
  });
}
