/**
 * Looks where a worker should see nothing: tries to read each of `paths` (a folder by its names) and returns for each the error's code, or
 * "read". Writes the texts of `write` by file first; returns who it is, its environment and its folder as well.
 */
import { lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { start } from 'slipway-worker';

function look(path) {
  try {
    if (lstatSync(path).isDirectory()) readdirSync(path);
    else readFileSync(path);
    return 'read';
  } catch (error) {
    return error.code;
  }
}

async function handler({ input: { paths = [], write = {} } }) {
  for (const [file, text] of Object.entries(write)) writeFileSync(file, text);
  return {
    seen: Object.fromEntries(paths.map((path) => [path, look(path)])),
    uid: process.getuid(),
    gid: process.getgid(),
    groups: process.getgroups(),
    pid: process.pid,
    cwd: process.cwd(),
    env: process.env,
  };
}

start({ handler });
