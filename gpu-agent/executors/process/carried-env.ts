/**
 * Variables whose names a shell cannot have, with a dot or a dash: it takes no such variable over from its own
 * environment, and hands none on. They travel under other names, and `env` gives them theirs back. Meanwhile, for less
 * than a millisecond, they stand among its arguments, which others can see.
 */

const SHELL_NAME = /^[A-Za-z_]\w*$/;
/** What may stand between quotes as it is: all names that core lets through. */
const SAFE_NAME = /^[\w.-]+$/;
const CARRIED = 'SLIPWAY_CARRIED_';

/**
 * Returns an environment that a shell hands on whole, and what it has to execute at its end: its arguments, with all
 * variables of `env`.
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
