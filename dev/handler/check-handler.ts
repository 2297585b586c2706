/** Checks a handler's files before anything is installed for it: a syntax error is reported within a second. */
import { dirname, extname, relative } from 'node:path';
import { UsageError } from '../options.ts';
import { runProgram } from '../processes/run-program.ts';
import { findPython } from '../python/find-python.ts';
import { handlerFiles } from './handler-files.ts';

/** Compiles files without running them or leaving anything behind. */
const COMPILE = `
import sys, traceback
for path in sys.argv[1:]:
    try:
        compile(open(path, "rb").read(), path, "exec")
    except (SyntaxError, ValueError) as error:
        print("".join(traceback.format_exception_only(type(error), error)))
        sys.exit(1)
`;

/** Throws UsageError with the compiler's words if the handler or a file beside it that it imports has wrong syntax. */
export async function checkSyntax(handler: string, signal: AbortSignal): Promise<void> {
  if (extname(handler) !== '.py') return;
  const python = await findPython(signal);
  // Without one, the step that needs it says how to install it.
  if (!python) return;
  const files = handlerFiles(handler).filter((file) => extname(file) === '.py');
  const { code, output } = await runProgram(python.program, ['-c', COMPILE, ...files], { signal });
  // Other codes: the check itself could not run, and the start continues.
  if (code !== 1 || signal.aborted) return;
  const words = output
    .join('\n')
    .replaceAll(`"${dirname(handler)}/`, '"')
    .trim();
  throw new UsageError(`${relative(process.cwd(), handler)} cannot run, because of a mistake in its syntax:\n${words}`);
}
