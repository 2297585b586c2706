/** Decides whether containers can be tested on this machine. */
import { existsSync } from 'node:fs';

/** The reason why containers cannot be tested, in one line; else false. Passed as `skip` it skips a test. */
export const podmanSkip = whyNoPodman();

function whyNoPodman(): string | false {
  if (process.getuid?.() !== 0) return 'containers are tested as root';
  const programs = ['/usr/bin/podman', '/usr/sbin/iptables', '/usr/sbin/runc'];
  return programs.every((path) => existsSync(path)) ? false : 'needs podman runc conmon netavark iptables iproute2';
}
