/**
 * Prevents commands of this host from gaining privileges by what they run. A set-uid program, or one with file
 * capabilities, that root in a container left in a network volume runs with its caller's privileges. The kernel applies
 * this to a process and everything it starts once the process has asked for it. Node cannot ask; setpriv of util-linux
 * does. No code of the workload's owner may run before that, so variables that load libraries into programs are set
 * only afterwards.
 */
import { execFileSync } from 'node:child_process';

/** Paths of setpriv. PATH is not searched, because another user could set it. */
const PATHS = ['/usr/bin/setpriv', '/bin/setpriv', '/usr/sbin/setpriv', '/sbin/setpriv'];
/**
 * Variables that change what a program loads or does before its first line: as glibc removes for set-uid
 * programs, and all of the loader's.
 */
const LOADS = new RegExp(
  '^(?:(?:LD|MALLOC)_\\w+|GCONV_PATH|GETCONF_DIR|GLIBC_TUNABLES|' +
    'HOSTALIASES|LOCALDOMAIN|LOCPATH|NIS_PATH|NLSPATH|RESOLV_HOST_CONF' +
    '|RES_OPTIONS|TZDIR)$',
);
const HELD = 'SLIPWAY_HELD_';

/** `undefined` until it was looked for. Empty if no setpriv of this host works. */
let setpriv: string | undefined;

/**
 * Returns the path of a working setpriv of this host; empty if there is none. Looks once, which takes some
 * milliseconds.
 */
export function findSetpriv(): string {
  setpriv ??= PATHS.find(works) ?? '';
  return setpriv;
}

/** A program with its arguments and environment. */
interface Call {
  program: string;
  args: string[];
  env: Record<string, string>;
}

/**
 * Returns the call of a shell that runs `script` without gaining privileges. Without setpriv it is an ordinary call.
 */
export function withoutNewPrivs(script: string, args: readonly string[], env: Readonly<Record<string, string>>): Call {
  const program = findSetpriv();
  if (program === '') return { program: '/bin/sh', args: ['-c', script, ...args], env: { ...env } };
  const held = new Set(Object.keys(env).filter((name) => LOADS.test(name)));
  const release = [...held].map((name) => `export ${name}="$${HELD}${name}"; unset ${HELD}${name}; `).join('');
  return {
    program,
    args: ['--no-new-privs', '/bin/sh', '-c', `${release}${script}`, ...args],
    env: Object.fromEntries(
      Object.entries(env).map(([name, value]) => [held.has(name) ? `${HELD}${name}` : name, value]),
    ),
  };
}

function works(program: string): boolean {
  try {
    execFileSync(program, ['--no-new-privs', '/bin/true'], { env: {}, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
