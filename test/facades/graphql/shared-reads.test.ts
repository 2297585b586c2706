/** Equal reads share a run, and no answer is older than its request. */

import { SharedReads } from '@slipway/facades/graphql/shared-reads';
import t from 'tap';

/** Returns a read that the test ends, with the number of its starts. */
function manualRead() {
  const runs: { end(): void; fail(): void }[] = [];
  let version = 0;
  const read = (): Promise<number> => {
    const seen = version;
    return new Promise((resolve, reject) =>
      runs.push({ end: () => resolve(seen), fail: () => reject(new Error('no')) }),
    );
  };
  return {
    runs,
    read,
    change: () => {
      version += 1;
    },
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

t.test('readers that arrive during a run share the next one, which sees earlier changes', async (t) => {
  const shared = new SharedReads<number>();
  const { runs, read, change } = manualRead();
  const first = shared.run('key', read, () => true);
  change();
  const later = [shared.run('key', read, () => true), shared.run('key', read, () => true)];
  t.equal(runs.length, 1, 'the next run waits for this one');
  runs[0]!.end();
  t.equal(await first, 0);
  await turn();
  t.equal(runs.length, 2, 'one run for both');
  change();
  const last = shared.run('key', read, () => true);
  runs[1]!.end();
  t.same(await Promise.all(later), [1, 1]);
  await turn();
  runs[2]!.end();
  t.equal(await last, 2);
  const alone = shared.run('key', read, () => true);
  t.equal(runs.length, 4, 'after a pause a read begins at once');
  runs[3]!.end();
  t.equal(await alone, 2);
});

t.test('different reads do not wait for each other', async (t) => {
  const shared = new SharedReads<number>();
  const { runs, read } = manualRead();
  const both = [shared.run('one', read, () => true), shared.run('two', read, () => true)];
  t.equal(runs.length, 2);
  for (const run of runs) run.end();
  t.same(await Promise.all(both), [0, 0]);
});

t.test('a failure affects its run only', async (t) => {
  const shared = new SharedReads<number>();
  const { runs, read } = manualRead();
  const first = shared.run('key', read, () => true);
  const second = shared.run('key', read, () => true);
  runs[0]!.fail();
  await t.rejects(first);
  await turn();
  runs[1]!.end();
  t.equal(await second, 0);
});

t.test('a run is wanted as long as one of its readers waits', async (t) => {
  const shared = new SharedReads<number>();
  const asked: (() => boolean)[] = [];
  const { runs, read } = manualRead();
  const asking = (isWanted: () => boolean): Promise<number> => {
    asked.push(isWanted);
    return read();
  };
  const here = [true, true, true];
  const reading = here.map((_, reader) => shared.run('key', asking, () => here[reader]!));
  here[0] = false;
  t.equal(asked[0]!(), false, 'the others wait for the next run');
  runs[0]!.end();
  await turn();
  t.equal(asked[1]!(), true);
  here[1] = false;
  t.equal(asked[1]!(), true);
  here[2] = false;
  t.equal(asked[1]!(), false);
  runs[1]!.end();
  await Promise.all(reading);
});
