/** Finds the Python that makes the environments: the first on the PATH, unless workers could not run it. */
import { ACCOUNT_UID_BASE, runsAsRoot, tryAs } from '@slipway/kit/host/host-user';
import { runProgram } from '../processes/run-program.ts';

/** A Python of this machine. */
export interface FoundPython {
  /** Name on the PATH, or the path. */
  program: string;
  version: string;
  /** Path of the real interpreter. The name on the PATH may be a script, as with pyenv. */
  executable: string;
}

/** The distribution's Python, which every user can reach. */
const SYSTEM_PYTHON = '/usr/bin/python3';
const PROBE = 'import platform, sys; print(platform.python_version()); print(sys.executable)';
/** Also checks for the modules that make environments. Debian's Python comes without them. */
const PROBE_VENV = `import ensurepip, venv; ${PROBE}`;

/**
 * Finds Python; `undefined` if there is none. Root often has Python below /root (pyenv, uv). An agent that runs as root
 * runs workers as other users, who cannot enter /root, so no worker would start in an environment made with that
 * Python. The distribution's Python is preferred then.
 */
export async function findPython(signal: AbortSignal): Promise<FoundPython | undefined> {
  const first = await probe('python3', PROBE, signal);
  if (!first || !runsAsRoot() || (await othersReach(first))) return first;
  const system = await probe(SYSTEM_PYTHON, PROBE_VENV, signal);
  return system && (await othersReach(system)) ? system : first;
}

async function probe(program: string, script: string, signal: AbortSignal): Promise<FoundPython | undefined> {
  const { code, output } = await runProgram(program, ['-c', script], { signal });
  if (code !== 0) return undefined;
  const [version = '', executable = program] = output.slice(-2).map((line) => line.trim());
  return { program, version, executable };
}

async function othersReach({ executable }: FoundPython): Promise<boolean> {
  return (await tryAs({ uid: ACCOUNT_UID_BASE, gid: ACCOUNT_UID_BASE }, '"$1" -c ""', executable)) === undefined;
}
