/**
 * Makes py-cpuinfo remember the processor's name. The SDK asks for it when it is loaded, and py-cpuinfo measures it in
 * a separate process: a second or more for each of the hundred workers of a test run. The Pythons of tests measure it
 * once. The SDK itself stays unchanged.
 */
import { runProgram } from '@slipway/dev/processes/run-program';

/**
 * Python code of the patch. It replaces files instead of writing into them, because the installer may share them with
 * environments that are not for tests.
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

/** Makes an environment's py-cpuinfo remember the name. Does nothing if it already does or is not installed. */
export async function rememberProcessor(python: string, signal: AbortSignal): Promise<void> {
  // If this fails, workers measure the name as they do everywhere else.
  await runProgram(python, ['-c', REMEMBER], { signal });
}
