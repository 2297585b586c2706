// test: envoy
/** The record of the running Envoy, and an edge that fails beside an Envoy that serves. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readEdgeConfig } from '@slipway/edge/config';
import { readRunning, writeEdgeFiles, writeRunning } from '@slipway/edge/edge-files';
import type { Test } from 'tap';
import t from 'tap';
import { ENVOY, skipWithoutEnvoy } from '../helpers/system/edge.ts';

const run = promisify(execFile);
const skip = skipWithoutEnvoy();

/** The path of a socket below the test's own folder could be too long. */
function dataFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'slw-edge-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Returns the processes that have this text in their command line. */
function processesOf(text: string): string[] {
  const commandOf = (pid: string): string => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    } catch {
      return '';
    }
  };
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && commandOf(name).includes(text));
}

t.test('after a restart of the machine another process may have the id of the last Envoy', async (t) => {
  const dataDir = dataFolder(t);
  writeEdgeFiles(readEdgeConfig({ SLIPWAY_EDGE_DATA_DIR: dataDir }), 0);
  writeRunning(dataDir, { pid: process.pid, baseId: 0, epoch: 0 });
  t.equal(readRunning(dataDir), undefined);
});

t.test('an edge that cannot start leaves no Envoy', { skip }, async (t) => {
  const dataDir = dataFolder(t);
  // The record of the running Envoy cannot be written.
  mkdirSync(join(dataDir, 'running.json', 'x'), { recursive: true });
  const env = {
    PATH: process.env['PATH'],
    SLIPWAY_EDGE_LISTEN: '127.0.0.1:0',
    SLIPWAY_EDGE_DATA_DIR: dataDir,
    SLIPWAY_EDGE_ENVOY: ENVOY,
    SLIPWAY_EDGE_THREADS: '1',
  };
  const main = join(import.meta.dirname, '../../edge/main.ts');
  const failure = await run(process.execPath, [main], { env }).catch((error: unknown) => error);
  t.match(failure, { code: 1, stdout: /edge did not start/ });
  t.same(processesOf(dataDir), []);
});
