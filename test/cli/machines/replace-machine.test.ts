/** A machine that replaces another one: how it is described to the operator. */
import { tokenLocations } from '@slipway/cli/machines/replace-machine';
import t from 'tap';

t.test('the locations of a token for a successor', async (t) => {
  const pool = { locations: ['eu-1', 'rack-7'] };
  const of = (locations: string[], itsPool: typeof pool | undefined = pool) => tokenLocations(locations, itsPool);
  t.same(of(['eu-1', 'rack-7', 'pool:shelf', 'tier=fast']), [], 'the pool has them');
  t.same(of(['eu-1', 'rack-9', 'pool:shelf', 'tier=fast']), ['eu-1', 'rack-9'], 'its own ones hide those of the pool');
  t.same(of(['eu-1', 'pool:shelf']), ['eu-1']);
  t.same(of(['pool:shelf'], { locations: [] }), []);
  t.same(of(['eu-2', 'pool:shelf', 'owner=x'], undefined), ['eu-2'], 'a pool that was never set');
});
