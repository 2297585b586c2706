/** A burst of one client does not hold up the requests of others: few start in a tick, and clients take turns. */
import { RequestPace } from '@slipway/facades/plugins/limits/request-pace';
import t from 'tap';

function paced() {
  const ticks: (() => void)[] = [];
  const pace = new RequestPace({ soon: (round) => void ticks.push(round) });
  const started: string[] = [];
  const ask = (client: string, count = 1): void => {
    for (let n = 0; n < count; n += 1)
      pace.enter(
        () => client,
        () => started.push(client),
      );
  };
  const tick = (): string => {
    for (const round of ticks.splice(0)) round();
    return started.splice(0).join('');
  };
  return { pace, ask, tick, started, ticks };
}

t.test('few requests start at once, the others in later ticks, in order', (t) => {
  const { ask, tick, started, ticks } = paced();
  ask('a', 20);
  t.equal(started.splice(0).join(''), 'aaaaaaaa');
  t.equal(tick(), 'aaaaaaaa');
  t.equal(tick(), 'aaaa');
  t.equal(tick(), '');
  t.equal(ticks.length, 0, 'nothing is left to do');
  t.end();
});

t.test('a request of another client starts in the next tick, however many wait', (t) => {
  const { ask, tick, started } = paced();
  ask('a', 2_500);
  ask('b');
  started.length = 0;
  t.equal(tick(), 'abaaaaaa');
  ask('b', 3);
  ask('c');
  t.equal(tick(), 'abcababa', 'clients take turns');
  t.end();
});

t.test('a request that arrives between two ticks takes a free place, or waits if there is none', (t) => {
  const { ask, tick, started } = paced();
  ask('a', 11);
  t.equal(started.splice(0).join(''), 'aaaaaaaa');
  t.equal(tick(), 'aaa');
  ask('b', 6);
  t.equal(started.splice(0).join(''), 'bbbbb', 'five were free');
  t.equal(tick(), 'b');
  t.end();
});

t.test('a request that starts others does not extend its tick', (t) => {
  const { pace, tick } = paced();
  let begun = 0;
  const again = (): void => {
    begun += 1;
    if (begun < 30) pace.enter(() => 'a', again);
  };
  pace.enter(() => 'a', again);
  t.equal(begun, 8);
  tick();
  t.equal(begun, 16);
  t.end();
});
