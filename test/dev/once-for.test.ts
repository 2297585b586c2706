/** Files may come and go while the state of files is read: two starts build side by side. */
import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import t from 'tap';

const MODULE = '../../dev/install/once-for.mjs';
/** How often the folders come and go: more often than the state can be read meanwhile. */
const CHANGES = 200;
/** Makes and removes folders, and sets the first number at its end. */
const CHANGING = `
  const { mkdirSync, rmdirSync } = require('node:fs');
  const { workerData: { folder, isOver } } = require('node:worker_threads');
  for (let n = 0; n < ${CHANGES}; n += 1) {
    mkdirSync(folder + '/b/c', { recursive: true });
    rmdirSync(folder + '/b/c');
    rmdirSync(folder + '/b');
  }
  isOver[0] = 1;`;

/** Functions of the module that the test calls. The module is plain JavaScript. */
type OnceFor = (state: { root: string; name: string; paths: string[] }, work: () => void) => Promise<void>;

const { onceFor } = (await import(MODULE)) as { onceFor: OnceFor };

t.test('a folder that is removed meanwhile is no error', async (t) => {
  const root = t.testdir({ node_modules: {}, built: { a: 'x' } });
  const isOver = new Int32Array(new SharedArrayBuffer(4));
  const workerData = { folder: join(root, 'built'), isOver };
  const other = new Worker(CHANGING, { eval: true, workerData });
  const ended = once(other, 'exit');
  await once(other, 'online');
  let reads = 0;
  for (; Atomics.load(isOver, 0) === 0; reads += 1)
    await onceFor({ root, name: 'test', paths: ['built'] }, () => undefined);
  await ended;
  t.ok(reads > 0, `${reads} reads`);
});
