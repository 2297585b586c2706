/** Submissions while the database is away share one limit: only the first of an outage wait for it. */
import { OutageTracker } from '@slipway/core/jobs/submit/outage-tracker';
import { DatabaseAwayError } from '@slipway/core/store/sql/transient';
import { systemRandom } from '@slipway/kit/time/clock';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';

const REFUSED = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
const FULL = Object.assign(new Error('could not extend file: No space left on device'), { code: '53100' });

function tracker() {
  const clock = new ManualClock();
  const outage = new OutageTracker({ clock, random: systemRandom, signal: new AbortController().signal });
  let tries = 0;
  /** Fails with an error, and lets time pass until the tracker gives up. Returns the number of tries. */
  const fails = async (error: Error): Promise<number> => {
    tries = 0;
    const ended = outage
      .persist(() => {
        tries += 1;
        return Promise.reject(error);
      })
      .then(
        () => 'stored',
        (failure: unknown) => failure,
      );
    let result: unknown;
    void ended.then((value) => {
      result = value;
    });
    while (result === undefined) {
      await new Promise((resolve) => setImmediate(resolve));
      clock.pass(100);
    }
    t.ok(result instanceof DatabaseAwayError);
    return tries;
  };
  return { clock, outage, fails };
}

t.test('the first waits, the next ones fail at their first try, until something is stored', async (t) => {
  const { outage, fails } = tracker();
  t.ok((await fails(REFUSED)) > 3, 'a short outage is not noticed');
  t.equal(await fails(REFUSED), 1);
  t.equal(await fails(REFUSED), 1);
  t.equal(await outage.persist(async () => 'stored'), 'stored');
  t.ok((await fails(REFUSED)) > 3, 'another outage');
});

t.test('an outage long ago does not count', async (t) => {
  const { clock, fails } = tracker();
  await fails(REFUSED);
  clock.pass(60_001);
  t.ok((await fails(REFUSED)) > 3);
});

t.test('a full disk is not waited for', async (t) => {
  const { fails } = tracker();
  t.equal(await fails(FULL), 1);
});

t.test('errors without a useful retry are thrown unchanged', async (t) => {
  const { outage } = tracker();
  const error = Object.assign(new Error('syntax'), { code: '42601' });
  await t.rejects(
    outage.persist(() => Promise.reject(error)),
    { code: '42601' },
  );
});
