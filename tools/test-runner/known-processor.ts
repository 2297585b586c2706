/**
 * The SDK asks py-cpuinfo for the processor's name while it is loaded, which measures it in a process of its own: a
 * second and more for each of the hundred workers of a test run. The Pythons of tests measure once and know it from
 * then on; the SDK itself stays as it is.
 */
import { runProgram } from '@slipway/dev/processes/run-program';

/**
 * Replaces files instead of writing into them: the installer may share them with environments that are not for tests.
 */
const REMEMBER = `
import json, os
from os import path
import cpuinfo
folder = path.dirname(cpuinfo.__file__)
init, known = path.join(folder, "__init__.py"), path.join(folder, "known.json")
def replace(file, text):
    with open(file + ".new", "w") as new:
        new.write(text)
    os.replace(file + ".new", file)
with open(init) as file:
    text = file.read()
if "known.json" not in text:
    replace(init, text + '''
import json
from os import path

_measure = get_cpu_info


def get_cpu_info():
    try:
        with open(path.join(path.dirname(__file__), "known.json")) as file:
            return json.load(file)
    except FileNotFoundError:
        return _measure()
''')
if not path.exists(known):
    replace(known, json.dumps(cpuinfo.get_cpu_info()))
`;

/** Lets an environment's py-cpuinfo remember; does nothing where it does already, or has none. */
export async function rememberProcessor(python: string, signal: AbortSignal): Promise<void> {
  // Where this fails workers measure, as everywhere else.
  await runProgram(python, ['-c', REMEMBER], { signal });
}
