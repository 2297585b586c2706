// test: postgres
/** The directory of backends for proxies: only what was read for a listener counts as known. */
import { BackendDirectory } from '@slipway/core/edge/backend-directory';
import { CoreEvents } from '@slipway/core/events/core-events';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import t from 'tap';
import { logger, startEngines } from '../../helpers/system/job-engine.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const engines = await startEngines(t, { idle: true });
const { edge } = engines.stores;

t.test('what was read for a listener that has left is not known to the next one', async (t) => {
  let read = (): void => undefined;
  const directory = new BackendDirectory({
    edge: {
      backends: async (ids) => {
        const found = await edge.backends(ids);
        read();
        return found;
      },
    },
    events: new CoreEvents(),
    ...{ clock: systemClock, random: systemRandom, logger },
  });
  await directory.start();
  t.teardown(() => directory.stop());
  const left = Promise.withResolvers<void>();
  const leave = directory.listen(() => undefined);
  read = () => {
    leave();
    left.resolve();
  };
  await left.promise;
  await new Promise(setImmediate);
  t.equal(directory.loaded, false);
  read = () => undefined;
  const endpointId = await engines.endpoint({ type: 'LB' });
  const heard: string[] = [];
  directory.listen((ids) => heard.push(...ids));
  await waitFor('the endpoint', () => heard.includes(endpointId));
});
