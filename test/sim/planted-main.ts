/**
 * Plants each bug in turn, and runs seeds until one finds it: `npx node
 * test/sim/planted-main.ts [name…]`. Each has a process, because a bug is in the source as it is loaded. Exits 1 when
 * one is not found within its seeds.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { PLANTED } from './planted.ts';
import type { SeedsReport } from './run-seeds.ts';

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url));
/** Clients of a seed. */
const JOBS = 60;

function find({ name, seeds, slow = false }: (typeof PLANTED)[number]): Promise<SeedsReport | undefined> {
  const args = [
    MAIN,
    '--planted',
    name,
    '--seeds',
    String(seeds),
    '--jobs',
    String(JOBS),
    ...['--json', '--shrink', '0'],
    ...(slow ? ['--slow'] : []),
  ];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { maxBuffer: 2 ** 28 }, (_error, stdout) => {
      resolve(stdout === '' ? undefined : (JSON.parse(stdout) as SeedsReport));
    });
  });
}

const names = process.argv.slice(2);
for (const bug of PLANTED.filter(({ name, seeds }) => (names.length === 0 ? seeds > 0 : names.includes(name)))) {
  const report = await find(bug);
  const [failure] = report?.failures ?? [];
  if (!failure) process.exitCode = 1;
  const told = failure
    ? `found by seed ${failure.seed}: ${failure.violations[0]!.rule}`
    : `NOT FOUND in ${report?.seeds ?? 0} seeds`;
  process.stdout.write(`${bug.name}: ${told} (within ${bug.seeds})\n`);
}
