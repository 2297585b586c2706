/**
 * Passes variables through a shell whose names the shell does not support, with a dot or a dash: it drops such
 * variables from its environment. They are passed under other names, and `env` restores their names. For less than a
 * millisecond they are among the arguments of `env`, which others can see.
 */

const SHELL_NAME = /^[A-Za-z_]\w*$/;
/** Names that are safe between quotes: all names that core accepts. */
const SAFE_NAME = /^[\w.-]+$/;
const CARRIED = 'SLIPWAY_CARRIED_';

/**
 * Returns an environment that a shell passes on completely, and the command that it must execute last: its arguments,
 * with all variables of `env`.
 */
export function carriedByShell(env: Readonly<Record<string, string>>): { env: Record<string, string>; exec: string } {
  const odd = Object.keys(env).filter((name) => !SHELL_NAME.test(name) && SAFE_NAME.test(name));
  if (odd.length === 0) return { env: { ...env }, exec: 'exec "$@"' };
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => !odd.includes(name)));
  for (const [index, name] of odd.entries()) own[`${CARRIED}${index}`] = env[name]!;
  const dropped = odd.map((_, index) => `-u ${CARRIED}${index}`).join(' ');
  const given = odd.map((name, index) => `'${name}'="$${CARRIED}${index}"`).join(' ');
  return { env: own, exec: `exec /usr/bin/env ${dropped} ${given} "$@"` };
}
