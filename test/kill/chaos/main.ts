/** `npm run chaos`: random faults on real processes, chosen by a seed; no acknowledged job may be lost. */
import { parseArgs } from 'node:util';

const HELP = `npm run chaos -- [options]

Runs two cores, two facades behind Envoy, three agents and PostgreSQL as processes and submits jobs, while processes are
killed or hang, connections to the database are cut, and no name is found for seconds. Every tenth output has 2 MB. As
root on Linux, each agent has a network namespace, whose link is cut. With Podman, jobs also run in containers of one
agent, whose engine is killed. With Patroni (npm run test:python) and etcd (npm run kube), PostgreSQL has a standby, which
takes over. What is missing is printed and left out.

Then every acknowledged job must be COMPLETED, with the output of a run of its own, every webhook must have reported
that outcome, and no worker or container may be left.

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
  // Read when the first random number is needed.
  if (values.seed !== undefined) process.env['SLIPWAY_TEST_SEED'] = values.seed;
  // Seen once: Node closed its handles for ever after everything had ended.
  process.once('beforeExit', () => process.exit());
  const { runChaos } = await import('./run-chaos.ts');
  runChaos(Number(values.faults ?? 30));
}
