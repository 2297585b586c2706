/** Modules that a Python of the tests loads at each start, also in workers' images. The SDK itself stays unchanged. */
import { runProgram } from '@slipway/dev/processes/run-program';

/** A module and its text. */
export interface StartupModule {
  name: string;
  text: string;
}

const INSTALL = `
import json, os, sys, sysconfig
folder = sysconfig.get_path("purelib")
for name, text in json.loads(sys.argv[1]).items():
    file = os.path.join(folder, name)
    if os.path.exists(file) and open(file).read() == text:
        continue
    with open(file + ".part", "w") as part:
        part.write(text)
    os.replace(file + ".part", file)
`;

/** Installs the modules into an environment. Does nothing if they are already there. */
export async function installStartup(
  python: string,
  modules: readonly StartupModule[],
  signal: AbortSignal,
): Promise<void> {
  const files = Object.fromEntries(
    modules.flatMap(({ name, text }) => [
      [`${name}.py`, text],
      [`${name}.pth`, `import ${name}\n`],
    ]),
  );
  // If this fails, workers still start, and are as busy as everywhere else.
  await runProgram(python, ['-c', INSTALL, JSON.stringify(files)], { signal });
}
