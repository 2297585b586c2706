// test: alone
/** Short scripts as another user: their user, their input, and nothing of this process's environment. */

import { ACCOUNT_UID_BASE, tryAs } from '@slipway/kit/host/host-user';
import t from 'tap';

const user = { uid: ACCOUNT_UID_BASE + 7, gid: ACCOUNT_UID_BASE + 7 };
const asRoot = process.getuid!() === 0;

t.test(
  'a script as another user',
  { skip: asRoot ? false : 'needs root to run something as another user' },
  async (t) => {
    t.equal(
      await tryAs(user, 'test "$(id -u) $(id -g) $(id -G)" = "$1 $1 $1"', String(user.uid)),
      undefined,
      'it has no group of ours',
    );
    t.match(await tryAs(user, 'echo "no $1" >&2; exit 3', 'way'), /^no way$/);
    t.match(await tryAs(user, 'exit 3'), /Command failed/);
    // Whoever else runs as this user can read the environment of this process while it lasts.
    process.env.SLIPWAY_TEST_SECRET = 'secret';
    t.teardown(() => {
      delete process.env.SLIPWAY_TEST_SECRET;
    });
    t.equal(await tryAs(user, 'test -z "$SLIPWAY_TEST_SECRET"'), undefined, 'what we were started with stays here');
  },
);
