/** `npm run bench`: measures and prints a table. See README.md in this folder. */

import { Child } from './child.ts';
import { startDatabase } from './database.ts';
import type { Ceilings, Figure } from './figure.ts';
import { busyText, markdownTable, reached, table } from './figure.ts';
import { measureContainers } from './hosts/containers.ts';
import { measureCosts } from './hosts/costs.ts';
import { measureLb } from './load-balancing/load-balancing.ts';
import type { Options, Part } from './options.ts';
import { HELP, RACED, readOptions } from './options.ts';
import { measureDrain, measureMemory } from './parts/backlog.ts';
import { measureBatches } from './parts/batches.ts';
import { measureBeside } from './parts/beside.ts';
import { measureCeilings } from './parts/ceilings.ts';
import { measureFloods } from './parts/floods.ts';
import { measureGraphql } from './parts/graphql.ts';
import { measureLongQueue } from './parts/long-queue.ts';
import { measureNeighbours } from './parts/neighbours.ts';
import { measureOverload } from './parts/overload.ts';
import { measurePython } from './parts/python.ts';
import { measureReading } from './parts/reading.ts';
import { measureReplicas } from './parts/replicas.ts';
import { measureSizes } from './parts/sizes.ts';
import { measureSteady } from './parts/steady.ts';
import { measureRun, measureRunsync } from './parts/submissions.ts';
import { measureTables } from './parts/tables.ts';
import { measureTraces } from './parts/tracing.ts';
import { race } from './peers/race.ts';
import { raceReport, verdictsOf } from './peers/race-report.ts';
import { writeReport } from './report-file.ts';
import { factLines, runFacts } from './run-facts.ts';
import type { Bench } from './stack/bench.ts';

async function measureAll(bench: Bench, parts: readonly Part[]): Promise<{ figures: Figure[]; ceilings: Ceilings }> {
  const wants = (part: Part): boolean => parts.includes(part);
  const figures: Figure[] = [];
  let ceilings: Ceilings = { http: 0, inserts: 0 };
  if (wants('ceilings')) {
    const measured = await measureCeilings(bench);
    ceilings = measured.ceilings;
    figures.push(...measured.figures);
  }
  if (wants('run')) figures.push(...(await measureRun(bench)));
  if (wants('runsync'))
    figures.push(...(await measureRunsync(bench, 'session')), ...(await measureRunsync(bench, 'agent')));
  if (wants('drain')) figures.push(...(await measureDrain(bench, 'session')), ...(await measureDrain(bench, 'agent')));
  if (wants('memory')) figures.push(...(await measureMemory(bench)));
  if (wants('graphql')) figures.push(...(await measureGraphql(bench)));
  if (wants('containers')) figures.push(...(await measureContainers(bench)));
  if (wants('lb')) figures.push(...(await measureLb(bench)));
  if (wants('tables')) figures.push(...(await measureTables(bench)));
  if (wants('traces')) figures.push(...(await measureTraces(bench)));
  if (wants('python')) figures.push(...(await measurePython(bench)));
  if (wants('long-queue')) figures.push(...(await measureLongQueue(bench)));
  if (wants('reading')) figures.push(...(await measureReading(bench)));
  if (wants('neighbours')) figures.push(...(await measureNeighbours(bench)));
  if (wants('batches')) figures.push(...(await measureBatches(bench)));
  if (wants('floods')) figures.push(...(await measureFloods(bench)));
  if (wants('overload')) figures.push(...(await measureOverload(bench)));
  if (wants('sizes')) figures.push(...(await measureSizes(bench)));
  if (wants('costs')) figures.push(...(await measureCosts(bench)));
  if (wants('replicas')) figures.push(...(await measureReplicas(bench)));
  if (wants('steady')) figures.push(...(await measureSteady(bench)));
  return { figures, ceilings };
}

async function main(options: Options): Promise<void> {
  const say = (text: string): void => {
    process.stderr.write(`· ${text}\n`);
  };
  const busy = busyText();
  if (busy) say(busy);
  const stops: (() => Promise<void>)[] = [];
  try {
    const database = await startDatabase();
    stops.push(() => database.stop());
    const load = await Child.start('tools/bench/load/load-generator.ts');
    stops.push(() => load.stop());
    const bench: Bench = { options, database, load, facts: await runFacts(database, options, busy), say };
    if (options.beside)
      return console.log(`\n${[...factLines(bench.facts), '', await measureBeside(bench)].join('\n')}`);
    await (options.peers ? reportRace(bench) : report(bench));
  } finally {
    for (const stop of stops.toReversed()) await stop();
  }
}

async function report(bench: Bench): Promise<void> {
  const { facts, options } = bench;
  const { figures, ceilings } = await measureAll(bench, options.only);
  const json = JSON.stringify({ ...facts, ceilings, figures }, null, 2);
  writeReport(bench, markdownTable(factLines(facts), figures, ceilings), json);
  console.log(options.json ? json : `\n${[...factLines(facts), '', table(figures, ceilings)].join('\n')}`);
  if (!figures.every(reached)) bench.say('a figure misses its target (marked NO)');
}

/** Runs the race, and the parts that are measured for Slipway alone. */
async function reportRace(bench: Bench): Promise<void> {
  const { contestants, absent, results } = await race(bench);
  const { figures, ceilings } = await measureAll(
    bench,
    bench.options.only.filter((part) => !RACED.includes(part)),
  );
  const settings = Object.fromEntries(contestants.map(({ name, settings: text }) => [name, text]));
  const facts = { ...bench.facts, absent, contestants: settings };
  const verdicts = verdictsOf(results);
  const json = JSON.stringify({ ...facts, results, verdicts, ceilings, figures }, null, 2);
  const markdown = [
    raceReport(facts, results),
    ...(figures.length > 0 ? [markdownTable(['', '## Slipway alone'], figures, ceilings)] : []),
  ].join('\n');
  writeReport(bench, markdown, json);
  console.log(bench.options.json ? json : markdown);
  if (!verdicts.every((verdict) => verdict.reached) || !figures.every(reached))
    bench.say('a target is missed (marked NO)');
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') process.stdout.write(HELP);
  else await main(options);
  process.exit(0);
} catch (error) {
  // Children end by themselves once this process has gone, after Ctrl-C too; their folders are then removed.
  process.stderr.write(`${error instanceof Error ? error.stack : error}\n`, () => process.exit(1));
}
