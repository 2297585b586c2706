/** Numbers and times as the console writes them: no line ends between a number and its unit. */

import { coreText } from '@slipway/facades/console/web/src/lib/core-text';
import { ago, bytes, localTime, mib, roundSpan, span, unbroken } from '@slipway/facades/console/web/src/lib/format';
import t from 'tap';

/** A number that stands apart from its unit by a blank at which a line may end. */
const BREAKABLE = /\d (?:ms|s|min|h|d|B|KiB|GB|GiB|MiB|%)(?![\p{L}\d])/u;

t.test('spans of every size', async (t) => {
  const texts = [0, 12, 999, 4_000, 59_999, 61_000, 3_600_000, 90_000_000].map((ms) => span(ms));
  t.same(
    texts,
    ['0 ms', '12 ms', '999 ms', '4.0 s', '60 s', '1 min 1 s', '1 h 0 min', '1 d 1 h'].map((text) =>
      text.replaceAll(/(\d) /g, '$1\u00A0'),
    ),
  );
  t.same([undefined, 0].map(span), ['–', '0\u00A0ms']);
  const marks = [200, 1_000, 5_000, 30_000, 60_000, 1_800_000, 7_200_000, 172_800_000].map(roundSpan);
  t.same(
    marks,
    ['200 ms', '1 s', '5 s', '30 s', '1 min', '30 min', '2 h', '2 d'].map((text) => text.replace(' ', '\u00A0')),
  );
  for (const text of [
    ...texts,
    ...marks,
    ago(0, 61_000),
    ago(0, 4_000),
    bytes(7),
    bytes(2_000),
    bytes(5_000_000),
    mib(512),
    mib(24_576),
  ]) {
    t.notMatch(text, BREAKABLE);
    t.match(text, /\u00A0/);
  }
});

t.test('what core wrote', async (t) => {
  const told = unbroken('no job has waited 4 s, less than 4 s ago; in 10 min of 24 h with 24 GiB, 80 % of 12 ms');
  t.notMatch(told, BREAKABLE);
  t.equal(
    told.replaceAll('\u00A0', ' '),
    'no job has waited 4 s, less than 4 s ago; in 10 min of 24 h with 24 GiB, 80 % of 12 ms',
    'nothing else is changed',
  );
  t.equal(
    unbroken('3 servers, 2 machines, 5 draining'),
    '3 servers, 2 machines, 5 draining',
    'a word that begins as a unit is none',
  );
});

t.test('a moment in the format of a time input', async (t) => {
  t.equal(new Date(localTime(Date.parse('2026-07-31T12:34:56.789Z'))).getTime(), Date.parse('2026-07-31T12:34:56Z'));
  t.equal(localTime(Number.NaN), '');
});

t.test('sentences of core: settings by their labels, units that people read', async (t) => {
  for (const [text, shown] of [
    ['workersMax is 0: raise it', '“Most workers” is 0: raise it'],
    [
      'with workersMin above 0, idleTimeout 5 s',
      'with “Workers kept warm” above 0, “An idle worker stops after” 5\u00A0s',
    ],
    ['it needs 24576 MiB and 512 MiB', 'it needs 24\u00A0GiB and 512\u00A0MiB'],
    ['after 90000 ms', 'after 1\u00A0min 30\u00A0s'],
    ['nvidiaDriver of myWorker', 'nvidiaDriver of myWorker'],
  ] as const)
    t.equal(coreText(text), shown);
});
