/** Reads stdin: all of it, or a line that answers a question. */
import type { Cli } from './cli.ts';
import { interruptionOf } from './failures.ts';

/** Resolves at its end; rejects with InterruptedError when the command is interrupted meanwhile. */
export function readStdin(cli: Cli): Promise<Buffer> {
  return readUntil(cli, () => false);
}

/** Reads the first line. `undefined` if stdin ended before any input. Rejects as above. */
export async function readLine(cli: Cli): Promise<string | undefined> {
  const text = (await readUntil(cli, (part) => part.includes('\n'))).toString();
  return text === '' ? undefined : text.split('\n', 1)[0];
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
