/** Decides whether this machine can run a real node. */
import { existsSync } from 'node:fs';

/** Returns why a real node cannot run here, and what to do; `undefined` if it can. */
export function realNodeFault(): string | undefined {
  if (process.getuid?.() !== 0) return 'A real node needs root.';
  const programs = ['/usr/sbin/runc', '/usr/bin/nsenter', '/usr/bin/unshare', '/usr/bin/openssl', '/usr/sbin/ip'];
  const missing = programs.filter((file) => !existsSync(file));
  if (missing.length === 0) return undefined;
  return `A real node needs ${missing.join(', ')}: apt-get install runc util-linux openssl iproute2`;
}
