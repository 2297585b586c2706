/**
 * A machine with GPUs for the agents of a test: an nvidia-smi that prints what a real one printed
 * (test/gpu-agent/inventory/recordings).
 */
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Test } from 'tap';
import { requireDeclared } from '../declared.ts';

const RECORDINGS = join(import.meta.dirname, '../../gpu-agent/inventory/recordings');

/** What it prints: the table of cards, of their load, the list and the summary. */
export interface DriverAnswers {
  query: string;
  load: string;
  list: string;
  summary: string;
}

/** Of an H200 that multiplies matrices, as it was recorded. */
export function recordedH200(): DriverAnswers {
  const read = (part: keyof DriverAnswers): string => readFileSync(join(RECORDINGS, `h200.${part}.txt`), 'utf8');
  return { query: read('query'), load: read('load'), list: read('list'), summary: read('summary') };
}

/** The driver of a test. */
export interface Driver {
  /** Changes what it prints. */
  say: (part: Partial<DriverAnswers>) => void;
  /** Takes it away. */
  silence: () => void;
  /** How often it was asked. */
  asked: () => number;
}

/** Puts it into the PATH of this process until the test is over. */
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
  process.env['PATH'] = `${folder}${delimiter}${before}`;
  t.teardown(() => {
    process.env['PATH'] = before;
  });
  const asked = (): number =>
    existsSync(join(folder, 'asked')) ? readFileSync(join(folder, 'asked'), 'utf8').trim().split('\n').length : 0;
  return { say, silence: () => rmSync(program), asked };
}
