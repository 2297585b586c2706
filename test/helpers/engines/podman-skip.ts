/** Decides whether containers can be tested on this machine. */
import { existsSync } from 'node:fs';

/** The reason why containers cannot be tested, in one line; else false. Passed as `skip` it skips a test. */
export const podmanSkip: string | false =
  process.getuid?.() !== 0
    ? 'containers are tested as root'
    : existsSync('/usr/bin/podman') && existsSync('/usr/sbin/iptables') && existsSync('/usr/sbin/runc')
      ? false
      : 'needs podman runc conmon netavark iptables iproute2';
