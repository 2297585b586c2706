/** Settings of the Podman of tests: its storage and its networks. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { claimNumber } from '../time/claim-number.ts';

/** Lowest second byte of the networks' addresses. */
const NETWORK_MIN = 100;
const NETWORKS = 150;
/**
 * Writes settings with which Podman works on cgroup v1 and v2, with and without systemd, and on small virtual machines.
 * Returns the environment for them.
 */
export async function writeSettings(
  folder: string,
  more = '',
  graph = join(folder, 'graph'),
): Promise<Record<string, string>> {
  const path = (name: string): string => join(folder, name);
  // Each Podman has its own address range: those of files that run at the same time must not overlap.
  const network = `10.${NETWORK_MIN + (await claimNumber('networks', NETWORKS))}.0.0/16`;
  writeFileSync(
    path('containers.conf'),
    `
[containers]
default_ulimits=["nofile=20000:20000","nproc=4096:4096"]
log_driver="k8s-file"
[engine]
runtime="runc"
cgroup_manager="cgroupfs"
events_logger="file"
tmp_dir="${path('tmp')}"
[network]
network_backend="netavark"
network_config_dir="${path('networks')}"
default_subnet_pools=[{base="${network}",size=24}]
`,
  );
  writeFileSync(
    path('storage.conf'),
    `[storage]\ndriver="overlay"\ngraphroot="${graph}"\nrunroot="${path('run')}"\n${more}`,
  );
  writeFileSync(path('registries.conf'), '');
  return {
    PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: folder,
    CONTAINERS_CONF: path('containers.conf'),
    CONTAINERS_STORAGE_CONF: path('storage.conf'),
    CONTAINERS_REGISTRIES_CONF: path('registries.conf'),
  };
}
