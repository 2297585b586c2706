// test: postgres, 30 s
/** An interrupted comparison of the bench leaves nothing behind. */
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { openFolder } from '../../helpers/open-folder.ts';
import { descendants, processTable, skipWithoutProc } from '../../helpers/system/process-table.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const MAIN = join(import.meta.dirname, '../../../tools/bench/main.ts');
const ARGS = ['--beside-set', 'SLIPWAY_LOG_LEVEL=error', '--only', 'run', '--rounds', '1', '--seconds', '1'];

t.test('Ctrl-C ends all that --beside has started', { skip: skipWithoutProc() }, async (t) => {
  const folder = await openFolder(t);
  // A process group of its own: Ctrl-C in a terminal reaches all processes of a group.
  const bench = spawn(process.execPath, [MAIN, ...ARGS], {
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, TMPDIR: folder, SLIPWAY_GRAPHQL_AT_START: 'false' },
  });
  const group = bench.pid!;
  t.teardown(() => {
    if (bench.exitCode === null && bench.signalCode === null) process.kill(-group, 'SIGKILL');
  });
  let said = '';
  bench.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await waitFor('both sides to be under load', () => said.includes('POST /run ×64: 1 pairs'), 120_000);
  const started = descendants(group);
  const parts = ['core/main.ts', 'facades/main.ts', 'gpu-agent/main.ts', 'postgres', 'load-generator.ts'];
  const running = parts.filter((part) => started.some(({ command }) => command.includes(part)));
  t.same(running, parts);
  process.kill(-group, 'SIGINT');
  await waitFor('all of them to end', () => {
    const now = new Map(processTable().map(({ pid, command }) => [pid, command]));
    return started.every(({ pid, command }) => now.get(pid) !== command);
  });
  await waitFor('its folders to be removed', () => readdirSync(folder).length === 0);
});
