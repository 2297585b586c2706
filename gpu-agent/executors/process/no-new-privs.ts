/**
 * Commands of this host gain no privileges by what they run: a set-uid program, or one with file capabilities, that
 * root in a container left in a network volume stays what its caller is. The kernel holds a process and all that it
 * starts to that once it has asked for it, which Node cannot: util-linux' setpriv asks. Nothing of the unit's owner may
 * run before that, so variables that load libraries into programs wait until then.
 */
import { execFileSync } from 'node:child_process';

/** Where setpriv is looked for: never by a PATH that somebody else could set. */
const PLACES = ['/usr/bin/setpriv', '/bin/setpriv', '/usr/sbin/setpriv', '/sbin/setpriv'];
/**
 * Variables that change what a program loads or does before its first line: what glibc takes from set-uid programs, and
 * all of the loader's.
 */
const LOADS = new RegExp(
  '^(?:(?:LD|MALLOC)_\\w+|GCONV_PATH|GETCONF_DIR|GLIBC_TUNABLES|HOSTALIASES|LOCALDOMAIN|LOCPATH|NIS_PATH|NLSPATH|RESOLV_HOST_CONF' +
    '|RES_OPTIONS|TZDIR)$',
);
const HELD = 'SLIPWAY_HELD_';

/** Undefined: nobody has looked yet. Empty: none of this host's works. */
let setpriv: string | undefined;

/** Returns the setpriv of this host that works, empty when none does. Looks once, for some milliseconds. */
export function findSetpriv(): string {
  setpriv ??= PLACES.find(works) ?? '';
  return setpriv;
}

/** A program with its arguments and environment. */
export interface Call {
  program: string;
  args: string[];
  env: Record<string, string>;
}

/**
 * Returns the call of a shell that runs `script` and gains no privileges by what that runs. Without a setpriv it is an
 * ordinary one.
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
