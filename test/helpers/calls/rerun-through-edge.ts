/** Runs test files again on a running system, with a proxy between it and its clients. */
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { Test } from 'tap';
import { publicRequest } from '../system/public-api.ts';
import type { System, SystemOptions } from '../system/system.ts';
import { shareSystem } from '../system/system.ts';

/** The system that the files use, and the address of the proxy. */
export interface EdgeRun {
  system: System;
  /** Options that the system was started with. */
  options?: SystemOptions;
  /** Address of the proxy. */
  url: string;
  /** Authority of the proxy's certificate. */
  ca?: Buffer;
}

/**
 * Runs each file, given by its path below test without the ending. Its tests run after the test that loads it, then the
 * next file follows.
 */
export function rerunThroughEdge(t: Test, { system, options = {}, url, ca }: EdgeRun, files: readonly string[]): void {
  const before = getCACertificates('default');
  if (ca) setDefaultCACertificates([...before, ca.toString()]);
  t.teardown(() => setDefaultCACertificates(before));
  shareSystem(t, { ...system, url, request: publicRequest(url, system.key) }, options);
  const runAll = ([file, ...rest]: readonly string[]): void =>
    void (
      file !== undefined &&
      t.test(`through the edge: ${file}`, async (t) => {
        await import(`../../${file}.test.ts?edge`);
        t.pass();
        runAll(rest);
      })
    );
  runAll(files);
}
