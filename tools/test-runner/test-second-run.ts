/**
 * Chooses the files that are run a second time, and combines the results. Hundreds of files in parallel load a machine
 * in ways that no test can foresee. A file that fails then and passes alone is reported as flaky, with its first
 * failure above, and must still be fixed.
 */
import type { FailedFile, TestResults } from './test-results.ts';

/** Most failed files that are run again. If more fail, it was no accident, and nothing is run again. */
const FILES_MAX = 5;

/**
 * Returns the files to run again, one after the other. There are none unless a few of many failed. `files`: all files
 * of the run.
 */
export function filesToRunAgain(failed: readonly FailedFile[], files: readonly string[]): string[] {
  const names = failed.map(({ name }) => name);
  // A failure without a file, such as a process that did not end, cannot be run again.
  const can = names.length <= FILES_MAX && names.length < files.length && names.every((name) => files.includes(name));
  return can ? names : [];
}

/** Returns the combined results of both runs. For a file that ran twice, only the second run counts. */
export function resultsOfBoth(first: TestResults, failed: readonly FailedFile[], second: TestResults): TestResults {
  const sum = (of: (file: FailedFile) => number): number => failed.reduce((all, file) => all + of(file), 0);
  return {
    passed: first.passed - sum(({ passed }) => passed) + second.passed,
    failed: first.failed - sum((file) => file.failed) + second.failed,
    skipped: [...new Map([...first.skipped, ...second.skipped].map((skipped) => [skipped.name, skipped])).values()],
  };
}
