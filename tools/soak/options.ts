/** Options of the soak. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

export const HELP = readFileSync(join(import.meta.dirname, 'help.txt'), 'utf8');

/** Options. HELP explains them. */
export interface SoakOptions {
  minutes: number;
  everySeconds: number;
  rate: number;
  report: string | undefined;
  explain: boolean;
  help: boolean;
}

/** Reads options. Throws a sentence for the user if one is wrong. */
export function readOptions(args: readonly string[], folder: string): SoakOptions {
  const option = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: option,
      every: option,
      rate: option,
      report: option,
      explain: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  const number = (name: 'minutes' | 'every' | 'rate', usual: number, min: number, max: number): number => {
    const value = Number(values[name] ?? usual);
    if (!(value >= min && value <= max)) throw new Error(`--${name} must be a number from ${min} to ${max}`);
    return value;
  };
  return {
    minutes: number('minutes', 60, 0.1, 1_440),
    everySeconds: number('every', 10, 1, 60),
    rate: number('rate', 1, 0.1, 10),
    report: values.report === undefined ? undefined : resolve(folder, values.report),
    explain: values.explain ?? false,
    help: values.help ?? false,
  };
}
