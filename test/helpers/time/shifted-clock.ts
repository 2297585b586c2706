/** Lets a program see another time than this machine's, by libfaketime. Its monotonic clock stays as it is. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const LIBRARIES = '/usr/lib';
const NAME = 'faketime/libfaketime.so.1';

function find(): string | undefined {
  const names = readdirSync(LIBRARIES, { recursive: false }) as string[];
  const folders = names.filter((name) => name.endsWith('-linux-gnu'));
  return folders.map((folder) => join(LIBRARIES, folder)).find((folder) => readdirSync(folder).includes('faketime'));
}

/** For tap's `skip` option: false if the library is there, else one line that says what to install. */
export function skipWithoutFaketime(): false | string {
  return find() === undefined ? 'needs libfaketime: apt-get install faketime' : false;
}

/** Returns the variables of a program whose clock differs by `offset`, such as `+3h` or `-2d`. */
export function shiftedClock(offset: string): Record<string, string> {
  return { LD_PRELOAD: join(find()!, NAME), FAKETIME: offset, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
}
