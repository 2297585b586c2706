/** Reads stdin: all of it, or a line that answers a question. */
import type { Cli } from './cli.ts';
import { InterruptedError, interruptionOf, UsageError } from './failures.ts';

/** Resolves at its end; rejects with InterruptedError when the command is interrupted. */
export function readStdin(cli: Cli): Promise<Buffer> {
  return readUntil(cli, () => false);
}

/** Reads the first line. `undefined` if stdin ended before any input. Rejects as above. */
export async function readLine(cli: Cli): Promise<string | undefined> {
  const text = (await readUntil(cli, (part) => part.includes('\n'))).toString();
  return text === '' ? undefined : text.split('\n', 1)[0];
}

const ENTER = /[\r\n]/;
const CTRL_C = '\u0003';
const ERASE = /[^\u0008\u007f]?[\u0008\u007f]/;

/** Reads a secret: on a terminal after a question and without echo, else the first line of stdin. */
export async function readSecretLine(cli: Cli, question: string): Promise<string> {
  const { stdin, output } = cli;
  if (stdin.isTTY !== true || !stdin.setRawMode) {
    const line = (await readLine(cli))?.trim();
    if (line) return line;
    throw new UsageError(`${question} Give it on stdin, for instance from a file: < FILE.`);
  }
  output.note(`${question} Paste it and press Enter; it is not shown.`);
  stdin.setRawMode(true);
  try {
    let typed = '';
    const isEnough = (part: Buffer): boolean => {
      typed += part.toString();
      return ENTER.test(typed) || typed.includes(CTRL_C);
    };
    await readUntil(cli, isEnough);
    if (typed.includes(CTRL_C)) throw new InterruptedError('SIGINT');
    let line = typed.split(ENTER, 1)[0]!;
    while (ERASE.test(line)) line = line.replace(ERASE, '');
    return line.trim();
  } finally {
    stdin.setRawMode(false);
  }
}

const YES = /^y(es)?$/i;

/** Asks for a confirmation. Throws UsageError if stdin ends before an answer. */
export async function isConfirmed(cli: Cli, question: string): Promise<boolean> {
  cli.output.note(`${question} Type y, then Enter; with --yes nothing is asked.`);
  const answer = await readLine(cli);
  if (answer === undefined)
    throw new UsageError('There is no terminal to ask for confirmation, so nothing was changed. Confirm with --yes.');
  return YES.test(answer.trim());
}

async function readUntil({ stdin, stopping }: Cli, isEnough: (part: Buffer) => boolean): Promise<Buffer> {
  const parts: Buffer[] = [];
  const read = async (): Promise<Buffer> => {
    for await (const part of stdin) {
      parts.push(part);
      if (isEnough(part)) break;
    }
    return Buffer.concat(parts);
  };
  const interrupted = new Promise<never>((_, reject) => {
    stopping.addEventListener('abort', () => reject(interruptionOf(stopping)), { once: true });
  });
  return Promise.race([read(), interrupted]);
}
