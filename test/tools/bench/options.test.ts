/** Options of the bench and their help. */

import { BESIDE_RACE, HELP, PARTS, RACE_SECONDS_MAX, RACED } from '@slipway/tools/bench/options';
import t from 'tap';

t.test('the help names the parts, and those of the race', async (t) => {
  const text = HELP.replaceAll(/\s+/g, ' ');
  t.ok(text.includes(`comma-separated: ${PARTS.join(', ')} (default: all)`));
  t.ok(
    text.includes(`of --only it knows ${RACED.join(', ')} with them, and of Slipway alone ${BESIDE_RACE.join(', ')}`),
  );
  t.ok(text.includes(`of at most ${RACE_SECONDS_MAX} s`));
});
