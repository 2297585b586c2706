/** A report as two files, for people and for programs. */
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Bench } from './stack/bench.ts';

/** Writes NAME.md and NAME.json for `--report NAME`, from the folder that the command was typed in. */
export function writeReport({ options: { report }, say }: Bench, markdown: string, json: string): void {
  if (report === undefined) return;
  const name = resolve(process.env.INIT_CWD ?? process.cwd(), report);
  writeFileSync(`${name}.md`, `${markdown}\n`);
  writeFileSync(`${name}.json`, `${json}\n`);
  say(`written to ${name}.md and ${name}.json`);
}
