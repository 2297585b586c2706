/** Test files once more on a system that runs already, with something between it and its clients. */
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { Test } from 'tap';
import { publicRequest } from '../system/public-api.ts';
import type { System, SystemOptions } from '../system/system.ts';
import { shareSystem } from '../system/system.ts';

/** Where the files' requests go. */
export interface OnceMore {
  system: System;
  /** What the system was started with. */
  options?: SystemOptions;
  /** Address of what stands before it. */
  url: string;
  /** Authority of its certificate. */
  ca?: Buffer;
}

/**
 * Each file as it is, by its path below test without the ending: its own tests come behind the one that loads it, and
 * the next file behind these.
 */
export function runOnceMore(t: Test, { system, options = {}, url, ca }: OnceMore, files: readonly string[]): void {
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
