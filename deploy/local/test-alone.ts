/** Which test files need a process of their own: those that change or measure the one that they run in. All others share (test-worker.ts). */
import { readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { moduleFiles } from './handler-files.ts';

/** What a test file does to its process, or reads of it. One that is seen in vain costs a process. */
const OWN = [
  /\buseOwnServer\(|\bwithDriver\(|\bsetFlagsFromString\b|\bregisterHooks\(|\bmeasureLoop\b|\bglobalThis\./,
  /\bprocess\.(?:exit|chdir|on\(|once\(|memoryUsage|cpuUsage)/,
  /\/short-timers\.ts'/,
  /\bdelete process\.env|\bprocess\.env\.\w+ *\??=[^=]/,
];
/** What a helper starts once for all of a file, and ends with its process's test. */
const ONCE = /\bimport root from 'tap'/;
/** Asks for that only when a run has no PostgreSQL for all of its files. */
const DATABASE = join('test', 'helpers', 'database.ts');

/** True when the file must not share a process with others. Paths are from the project's root. */
export function runsAlone(root: string, file: string): boolean {
  const text = readFileSync(join(root, file), 'utf8');
  if (OWN.some((sign) => sign.test(text))) return true;
  const modules = moduleFiles(join(root, file), join(root, 'test')).filter((path) => !path.endsWith(sep + DATABASE));
  return modules.some((path) => ONCE.test(readFileSync(path, 'utf8')));
}
