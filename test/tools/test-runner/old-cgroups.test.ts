/** Control groups that earlier test runs left. Plain folders stand for groups: neither goes while it is in use. */
import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { removeOldCgroups } from '@slipway/tools/test-runner/old-cgroups';
import t from 'tap';

const NOW = new Date('2026-11-28T12:00:00Z');
const OLD = new Date('2026-11-28T10:59:00Z');
const YOUNG = new Date('2026-11-28T11:01:00Z');

t.test('old and empty ones of agents go, all others stay', async (t) => {
  const root = t.testdir();
  const make = (path: string, changed: Date, file?: string): string => {
    const folder = join(root, path);
    mkdirSync(folder, { recursive: true });
    if (file !== undefined) writeFileSync(join(folder, file), '');
    utimesSync(folder, changed, changed);
    return folder;
  };
  const gone = [make('memory/service/slipway-a/worker.1.1', OLD), make('unified/slipway-b', OLD)];
  const kept = [
    make('memory/service/slipway-c/worker.1.1', YOUNG),
    make('memory/service/slipway-d/worker.1.1', OLD, 'in-use'),
    make('memory/other', OLD),
  ];
  utimesSync(join(root, 'memory/service/slipway-a'), OLD, OLD);
  removeOldCgroups(NOW.getTime(), root);
  t.same(gone.filter(existsSync), []);
  t.same(kept.filter(existsSync), kept);
  t.notOk(existsSync(join(root, 'memory/service/slipway-a')), 'with the last of its workloads the agent’s own');
});
