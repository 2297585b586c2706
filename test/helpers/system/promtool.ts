/** Prometheus' own checker, of Debian's package prometheus. */
import { spawnSync } from 'node:child_process';

/** Returns why tests with promtool are skipped. */
export function whyNoPromtool(): false | string {
  return spawnSync('promtool', ['--version']).status === 0 ? false : 'needs promtool: apt-get install prometheus';
}
