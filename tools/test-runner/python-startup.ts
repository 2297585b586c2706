/** Modules that a Python of tests loads at each start, in workers' images too. The SDK itself stays as it is. */
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

/** Gives them to an environment; does nothing where they are already. */
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
  // Where this fails workers start, and are as busy, as everywhere else.
  await runProgram(python, ['-c', INSTALL, JSON.stringify(files)], { signal });
}
