/** Whether containers can be tested on this machine. */
import { existsSync } from 'node:fs';

/** One line where containers cannot be tested, else false. As an option of a test it skips it. */
export const podmanSkip: string | false =
  process.getuid?.() !== 0
    ? 'containers are tested as root'
    : existsSync('/usr/bin/podman') && existsSync('/usr/sbin/iptables') && existsSync('/usr/sbin/runc')
      ? false
      : 'needs podman runc conmon netavark iptables iproute2';
