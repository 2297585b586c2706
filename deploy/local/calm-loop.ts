/**
 * Workers of the 1.7 line keep a processor busy as long as they run (docs/worker-protocol.md#sdk-versions), which nothing else in a test run
 * needs. In the tests' Python of that line an event loop that only goes round rests between its rounds; the SDK itself stays as it is.
 */
import { runProgram } from './run-program.ts';

/** Python reads it at each start, in workers' images too. */
const MODULE = `"""An event loop that has gone round often with nothing to do but to go round waits a little each time, and wakes for what comes."""
import selectors

ROUNDS = 200
REST_S = 0.005


class CalmSelector(selectors.DefaultSelector):
    rounds = 0

    def select(self, timeout=None):
        events = super().select(timeout)
        self.rounds = 0 if events or timeout != 0 else self.rounds + 1
        return super().select(REST_S) if self.rounds > ROUNDS else events


selectors.DefaultSelector = CalmSelector
`;

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

/** Lets loops of an environment rest; does nothing where they do already. */
export async function calmLoops(python: string, signal: AbortSignal): Promise<void> {
  // Where this fails workers are as busy as everywhere else.
  await runProgram(python, ['-c', INSTALL, JSON.stringify({ 'calm_loop.py': MODULE, 'calm_loop.pth': 'import calm_loop\n' })], { signal });
}
