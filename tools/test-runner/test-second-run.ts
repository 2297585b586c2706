/**
 * Which files of a test run are run a second time, and what the run came to then. Hundreds of files side by side load a
 * machine in ways that no test can foresee; one that fails there and passes alone is reported as flaky, with its first
 * failure above, and is still to be mended.
 */
import type { FailedFile, TestResults } from './test-results.ts';

/** When more files fail, it was no accident: nothing is run again. */
const FILES_MAX = 5;

/** The files to run again, one after the other: none unless a few of many failed. `files`: all of the run. */
export function filesToRunAgain(failed: readonly FailedFile[], files: readonly string[]): string[] {
  const names = failed.map(({ name }) => name);
  // What is no file, like a process that did not end, cannot be run again.
  const can = names.length <= FILES_MAX && names.length < files.length && names.every((name) => files.includes(name));
  return can ? names : [];
}

/** What both runs came to: of a file that ran twice only the second counts. */
export function resultsOfBoth(first: TestResults, failed: readonly FailedFile[], second: TestResults): TestResults {
  const sum = (of: (file: FailedFile) => number): number => failed.reduce((all, file) => all + of(file), 0);
  return {
    passed: first.passed - sum(({ passed }) => passed) + second.passed,
    failed: first.failed - sum((file) => file.failed) + second.failed,
    skipped: [...new Map([...first.skipped, ...second.skipped].map((skipped) => [skipped.name, skipped])).values()],
  };
}
