/** Reads all of stdin. */
import type { Cli } from './cli.ts';
import { interruptionOf } from './failures.ts';

/** Resolves at its end; rejects with InterruptedError when the command is interrupted meanwhile. */
export async function readStdin({ stdin, stopping }: Cli): Promise<Buffer> {
  const parts: Buffer[] = [];
  const read = async (): Promise<Buffer> => {
    for await (const part of stdin) parts.push(part);
    return Buffer.concat(parts);
  };
  const interrupted = new Promise<never>((_, reject) => {
    stopping.addEventListener('abort', () => reject(interruptionOf(stopping)), { once: true });
  });
  return Promise.race([read(), interrupted]);
}
