/** `npm run chaos`: random faults on real processes, chosen by a seed; no acknowledged job may be lost. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const HELP = `npm run chaos -- [options]

Runs PostgreSQL, two cores, two facades behind Envoy and three agents as processes and submits jobs, while processes
are killed or hang, connections to the database are cut, and no name is found for seconds. Every tenth output has 2 MB.
Then every acknowledged job must be COMPLETED, with the output of a run of its own, and every webhook must have told it.

  --faults <n>   how many (default 30)
  --seed <n>     chooses them and their order; printed (default: another one each time)
  --help         this text
`;

const option = { type: 'string' } as const;
const { values } = parseArgs({ options: { faults: option, seed: option, help: { type: 'boolean' } } });

if (values.help) process.stdout.write(HELP);
else {
  for (const name of ['faults', 'seed'] as const)
    if (values[name] !== undefined && !/^\d{1,9}$/.test(values[name]))
      throw new Error(`--${name} must be a whole number`);
  const env = {
    ...process.env,
    SLIPWAY_TEST_KILLS: values.faults ?? '30',
    SLIPWAY_TEST_FAULT_KINDS: 'all',
    ...(values.seed !== undefined && { SLIPWAY_TEST_SEED: values.seed }),
  };
  const child = spawn(process.execPath, [join(import.meta.dirname, 'random.test.ts')], { env, stdio: 'inherit' });
  child.once('exit', (code) => {
    process.exitCode = code ?? 1;
  });
}
