/**
 * The agent's records on disk: the last value of each key survives, whatever was written and whenever the agent was
 * killed.
 */
import { appendFileSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { KeyedLog } from '@slipway/gpu-agent/spool/keyed-log';
import { machineDisk } from '@slipway/kit/host/disk';
import { createLogger } from '@slipway/kit/log/logger';
import fc from 'fast-check';
import t from 'tap';
import { SEED } from '../../helpers/time/seeded-random.ts';

const logger = createLogger('test', 'silent');
const opened = async (path: string) => {
  const log = new KeyedLog<unknown>({ path, disk: machineDisk, logger });
  t.teardown(() => log.close());
  return { log, left: await log.open() };
};
const object = (map: ReadonlyMap<string, unknown>) => Object.fromEntries(map);

t.test('random changes and restarts: the next run finds the last values', async (t) => {
  const folder = t.testdir({});
  let files = 0;
  const key = fc.constantFrom('u/a', 'u/b', 'a/x', 'a/y\n"');
  const step = fc.oneof(
    fc.record({ do: fc.constant('set' as const), key, value: fc.jsonValue().filter((value) => value !== undefined) }),
    fc.record({ do: fc.constant('delete' as const), key }),
    fc.record({ do: fc.constant('reopen' as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const path = join(folder, `log-${files++}`);
      let { log } = await opened(path);
      const model = new Map<string, unknown>();
      for (const action of [...steps, { do: 'reopen' as const }]) {
        if (action.do === 'set') {
          log.set(action.key, action.value);
          model.set(action.key, action.value);
        } else if (action.do === 'delete') {
          log.delete(action.key);
          model.delete(action.key);
        } else {
          await log.close();
          const next = await opened(path);
          log = next.log;
          t.strictSame(object(next.left), JSON.parse(JSON.stringify(object(model))));
        }
      }
      await log.close();
    }),
    { seed: SEED, numRuns: 60 },
  );
});

t.test('truncated in the middle of a line: all before it counts', async (t) => {
  const path = join(t.testdir({}), 'log');
  const { log } = await opened(path);
  log.set('a', 1);
  await log.close();
  const { log: second } = await opened(path);
  second.set('b', { long: 'x'.repeat(100) });
  await second.close();
  truncateSync(path, statSync(path).size - 5);
  const third = await opened(path);
  t.same(object(third.left), { a: 1 });
  await third.log.close();
  appendFileSync(path, 'not json\n["c",3]\n');
  t.same(object((await opened(path)).left), { a: 1 }, 'nor does what follows a line that is none');
});

t.test('many changes of few keys: the file stays small, and only its owner reads it', async (t) => {
  const path = join(t.testdir({}), 'log');
  const { log } = await opened(path);
  for (let round = 0; round < 200; round += 1) {
    for (let i = 0; i < 50; i += 1) log.set(`k${i}`, round);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  await log.close();
  t.ok(readFileSync(path, 'utf8').split('\n').length < 1_300, 'not 10,000 lines');
  t.equal(statSync(path).mode & 0o777, 0o600);
  t.equal((await opened(path)).left.get('k49'), 199);
});

t.test('large values come and go: the file stays bounded, and other values are found', async (t) => {
  const path = join(t.testdir({}), 'log');
  const { log } = await opened(path);
  log.set('other', 1);
  const value = 'x'.repeat(1024 * 1024);
  let largest = 0;
  for (let round = 0; round < 60; round += 1) {
    log.set(`k${round}`, value);
    await log.written();
    log.delete(`k${round}`);
    await log.written();
    largest = Math.max(largest, statSync(path).size);
  }
  await log.close();
  t.ok(largest < 24 * 1024 * 1024, `${largest} bytes`);
  t.same(object((await opened(path)).left), { other: 1 });
});

t.test('unreadable content is logged and ignored', async (t) => {
  const errors: unknown[] = [];
  const path = join(t.testdir({ log: {} }), 'log');
  const logger = Object.assign(createLogger('test', 'silent'), { error: (...said: unknown[]) => errors.push(said) });
  const log = new KeyedLog({ path, disk: machineDisk, logger });
  t.teardown(() => log.close());
  t.equal((await log.open()).size, 0);
  t.match(errors, [[{ path, err: { code: 'EISDIR' } }, /cannot be read/]]);
});
