/** Shrinks a failing run to the faults that it needs, within a limit of runs. */
import t from 'tap';
import { type ChosenFault, shrink } from './shrink.ts';

const FAULTS: ChosenFault[] = Array.from({ length: 60 }, (_, at) => ({ index: at + 1, text: `fault ${at + 1}` }));
/** Makes a run that breaks the rule if all of these faults happen. */
const failsWith =
  (...needed: number[]) =>
  async (only: ReadonlySet<number>) => ({
    faults: FAULTS.filter(({ index }) => only.has(index)),
    rules: needed.every((index) => only.has(index)) ? ['lost'] : [],
  });
const numbers = (faults: readonly ChosenFault[]): number[] => faults.map(({ index }) => index);

t.test('only the faults that matter are left', async (t) => {
  for (const needed of [[], [1], [60], [7, 19], [3, 30, 59]])
    t.same(numbers(await shrink({ faults: FAULTS, rule: 'lost', runsMax: 1_000, run: failsWith(...needed) })), needed);
});

t.test('another rule does not count', async (t) => {
  const run = async (only: ReadonlySet<number>) => ({ ...(await failsWith()(only)), rules: ['another'] });
  t.equal((await shrink({ faults: FAULTS, rule: 'lost', runsMax: 1_000, run })).length, FAULTS.length);
});

t.test('it ends after so many runs, with a part that fails', async (t) => {
  let runs = 0;
  const run = (only: ReadonlySet<number>) => {
    runs += 1;
    return failsWith(7, 19)(only);
  };
  const left = numbers(await shrink({ faults: FAULTS, rule: 'lost', runsMax: 8, run }));
  t.equal(runs, 8);
  t.ok(left.includes(7) && left.includes(19) && left.length < FAULTS.length, `${left.length} are left`);
});
