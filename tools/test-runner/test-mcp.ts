/**
 * Installs RunPod's MCP server and its packages for tests, at the versions in `mcp/package-lock.json`. They go into
 * their own folder in .slipway-test and never become dependencies of the project.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '@slipway/dev/options';
import { runProgram } from '@slipway/dev/processes/run-program';
import type { VenvDeps } from '@slipway/dev/python/python-venv';

const FILES = ['package.json', 'package-lock.json'];
/** npm writes this file at the end of an installation. */
const DONE = join('node_modules', '.package-lock.json');
const TAIL_LINES = 15;

/** Makes .slipway-test/mcp unless it has these releases. Throws UsageError with npm's last lines if npm fails. */
export async function makeMcp(root: string, { report, signal }: Omit<VenvDeps, 'clock'>): Promise<void> {
  const dir = join(root, '.slipway-test', 'mcp');
  const textOf = (folder: string): string[] =>
    FILES.map((file) => (existsSync(join(folder, file)) ? readFileSync(join(folder, file), 'utf8') : ''));
  const source = join(import.meta.dirname, 'mcp');
  if (existsSync(join(dir, DONE)) && String(textOf(dir)) === String(textOf(source))) return;
  report(`installing RunPod's MCP server in ${dir}`);
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  for (const file of FILES) copyFileSync(join(source, file), join(dir, file));
  const { code, output } = await runProgram('npm', ['ci', '--prefix', dir, '--ignore-scripts', '--loglevel=error'], {
    signal,
  });
  if (signal.aborted) throw new UsageError("Stopped while installing RunPod's MCP server.");
  if (code !== 0)
    throw new UsageError(`npm cannot install RunPod's MCP server:\n${output.slice(-TAIL_LINES).join('\n')}`);
}
