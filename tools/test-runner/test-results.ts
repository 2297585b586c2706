/**
 * Counts the results of a test run from its TAP output. It counts single assertions, not the lines that sum up a
 * subtest or a file.
 */
import { inspect } from 'node:util';
import type { Result } from 'tap-parser';
import { Parser } from 'tap-parser';

/** A test that was not run. */
interface SkippedTest {
  name: string;
  reason: string;
}

/** Results of a run. */
export interface TestResults {
  passed: number;
  failed: number;
  skipped: SkippedTest[];
}

/** A test file that failed, with its share of the results. */
export interface FailedFile {
  name: string;
  passed: number;
  failed: number;
}

/** Events for an observer of the run. */
interface TestEvents {
  /** A test file ended. `processorMs`: its processor time, if it was counted. */
  onFile?(name: string, ok: boolean, timeMs: number, processorMs?: number): void;
  /** An assertion failed. */
  onFailure?(name: string, details: string): void;
}

/** Reads TAP in pieces, which are passed to `write`. */
export class TestResultReader {
  readonly results: TestResults = { passed: 0, failed: 0, skipped: [] };
  readonly #parser: Parser;
  readonly #events: TestEvents;
  /** Number of test files that have ended. */
  files = 0;
  readonly failedFiles: FailedFile[] = [];
  #ok = false;

  constructor(events: TestEvents = {}) {
    this.#events = events;
    this.#parser = new Parser((final) => {
      this.#ok = final.ok;
    });
    this.#count(this.#parser, '');
  }

  write(tap: string): void {
    this.#parser.write(tap);
  }

  /** Ends the reading. Output that breaks off in the middle or contains no test counts as a failure. */
  end(): TestResults {
    this.#parser.end();
    if ((!this.#ok || this.#seen === 0) && this.results.failed === 0) this.results.failed = 1;
    return this.results;
  }

  get #seen(): number {
    return this.results.passed + this.results.failed + this.results.skipped.length;
  }

  #count(parser: Parser, path: string): void {
    // A subtest is followed directly by the line that sums it up.
    let subtest: { seen: number; passed: number; failed: number } | undefined;
    parser.on('child', (child: Parser) => {
      subtest = { seen: this.#seen, passed: this.results.passed, failed: this.results.failed };
      this.#count(child, path === '' ? child.name : `${path} > ${child.name}`);
    });
    parser.on('assert', (result: Result) => {
      const before = subtest;
      subtest = undefined;
      // A failed sum without a failed part is a separate failure, for instance a process that crashed or timed out.
      const isSum =
        before !== undefined && this.#seen > before.seen && (result.ok || this.results.failed > before.failed);
      if (!isSum) this.#add(path === '' ? result.name : `${path} > ${result.name}`, result);
      if (path === '') this.#endFile(result, before);
    });
  }

  #endFile(
    { name, ok, time, diag }: Result,
    before = { passed: this.results.passed, failed: this.results.failed - 1 },
  ): void {
    this.files += 1;
    if (!ok)
      this.failedFiles.push({
        name,
        passed: this.results.passed - before.passed,
        failed: this.results.failed - before.failed,
      });
    this.#events.onFile?.(name, ok, time ?? 0, (diag as { processorMs?: number } | undefined)?.processorMs);
  }

  #add(name: string, result: Result): void {
    if (result.skip) {
      this.results.skipped.push({ name, reason: result.skip === true ? 'no reason given' : result.skip });
    } else if (result.ok) {
      this.results.passed += 1;
    } else {
      this.results.failed += 1;
      this.#events.onFailure?.(name, describe(result));
    }
  }
}

/** Describes what tap recorded about a failed assertion, in a few lines. */
function describe({ diag }: Result): string {
  const { at, diff, stack, found, wanted, source, processorMs, ...rest } = (diag ?? {}) as Record<string, unknown>;
  const place = at as { fileName?: string; lineNumber?: number } | undefined;
  const lines = [
    place?.fileName ? `at ${place.fileName}:${place.lineNumber}` : '',
    typeof diff === 'string' ? diff : '',
    diff === undefined && wanted !== undefined ? `found ${inspect(found)}, wanted ${inspect(wanted)}` : '',
    typeof stack === 'string' ? stack : '',
    Object.keys(rest).length > 0 ? inspect(rest, { breakLength: 120 }) : '',
  ];
  return lines
    .filter((line) => line !== '')
    .join('\n')
    .trimEnd();
}
