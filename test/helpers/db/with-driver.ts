/**
 * A machine with GPUs for the agents of a test: an nvidia-smi that prints the output of a real one
 * (test/gpu-agent/inventory/recordings).
 */
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Test } from 'tap';
import { requireDeclared } from '../declared.ts';

const RECORDINGS = join(import.meta.dirname, '../../gpu-agent/inventory/recordings');

/** Output of nvidia-smi: the table of cards, the table of their load, the list and the summary. */
export interface DriverAnswers {
  query: string;
  load: string;
  list: string;
  summary: string;
}

/** Returns the recorded output of an H200 that multiplies matrices. */
export function recordedH200(): DriverAnswers {
  const read = (part: keyof DriverAnswers): string => readFileSync(join(RECORDINGS, `h200.${part}.txt`), 'utf8');
  return { query: read('query'), load: read('load'), list: read('list'), summary: read('summary') };
}

/** The driver of a test. */
export interface Driver {
  /** Environment of an agent of this process that finds it. */
  env: { PATH: string };
  /** Changes the output of nvidia-smi. */
  say: (part: Partial<DriverAnswers>) => void;
  /** Removes nvidia-smi. */
  silence: () => void;
  /** Returns how often nvidia-smi was run. */
  asked: () => number;
}

/** Puts the driver into the PATH of this process until the test ends. */
export function withDriver(t: Test, answers: DriverAnswers): Driver {
  requireDeclared('alone');
  const folder = t.testdir({});
  const say = (part: Partial<DriverAnswers>): void => {
    for (const [name, text] of Object.entries(part)) writeFileSync(join(folder, name), text);
  };
  say(answers);
  const program = join(folder, 'nvidia-smi');
  writeFileSync(
    program,
    `#!/bin/sh
here="$(dirname "$0")"
echo "$*" >> "$here/asked"
case "$*" in
  -L) exec cat "$here/list" ;;
  *utilization*) exec cat "$here/load" ;;
  --query*) exec cat "$here/query" ;;
  *) exec cat "$here/summary" ;;
esac
`,
  );
  chmodSync(program, 0o755);
  const before = process.env['PATH'];
  const env = { PATH: `${folder}${delimiter}${before}` };
  Object.assign(process.env, env);
  t.teardown(() => {
    process.env['PATH'] = before;
  });
  const asked = (): number =>
    existsSync(join(folder, 'asked')) ? readFileSync(join(folder, 'asked'), 'utf8').trim().split('\n').length : 0;
  return { env, say, silence: () => rmSync(program), asked };
}
