/** `npm run sim`: simulates core on a real PostgreSQL, seed by seed, and checks each history. */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { loadForSimulation } from './loader.ts';
import { PLANTED } from './planted.ts';

const HELP = `npm run sim -- [options]

Runs core under a deterministic scheduler: real code, a real PostgreSQL, virtual time. One seed decides everything, faults
included. Each seed's history is checked against what must always hold; a seed that fails prints the command that repeats it.

  --seeds <n>       how many (default 10)
  --minutes <n>     end after so many real minutes (default: no end)
  --from <n>        the first seed (default 1)
  --jobs <n>        clients of each (default 100)
  --twice           run each seed twice; both must have the same trace
  --trace <file>    write what happened, event by event; for one seed
  --planted <name>  plant a bug, which must be found: ${PLANTED.map(({ name }) => name).join(', ')}
  --json            print the report as one line of JSON
  --help            this text
`;

const option = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const { values } = parseArgs({
  options: {
    ...{ seeds: option, minutes: option, from: option, jobs: option, trace: option, planted: option },
    ...{ twice: flag, json: flag, help: flag },
  },
});

function positive(name: 'seeds' | 'minutes' | 'from' | 'jobs', fallback: number): number {
  const value = Number(values[name] ?? fallback);
  if (!(value > 0)) throw new Error(`--${name} must be a number above 0`);
  return value;
}

if (values.help) process.stdout.write(HELP);
else {
  const bug = PLANTED.find(({ name }) => name === values.planted);
  if (values.planted !== undefined && !bug) throw new Error(`There is no planted bug ${values.planted}. See --help.`);
  // Core is imported after this.
  loadForSimulation(bug?.patches);
  const { runSeeds } = await import('./run-seeds.ts');
  const report = await runSeeds({
    seeds: positive('seeds', 10),
    minutes: positive('minutes', Infinity),
    from: positive('from', 1),
    jobs: positive('jobs', 100),
    twice: values.twice ?? false,
    keepsTrace: values.trace !== undefined,
    stopsAtFirst: bug !== undefined,
    onSeed: (text) => process.stderr.write(`${text}\n`),
    ...(bug && { planted: bug.name }),
  });
  if (values.trace !== undefined) writeFileSync(values.trace, report.trace.join('\n'));
  process.stdout.write(values.json ? `${JSON.stringify({ ...report, trace: undefined })}\n` : report.text);
  const isFound = report.failures.length > 0;
  process.exit(isFound === (bug !== undefined) ? 0 : 1);
}
