/** Files of a real node. */
import { PAUSE_IMAGE } from './pause-image.ts';

interface NodeFiles {
  /** Folder of the node. */
  root: string;
  /** Folder of its programs. */
  programs: string;
  ip: string;
  /** Name of the control group that has all its Pods. */
  cgroup: string;
}

/** Folders of the host that the programs write to, wherever their own are. */
const COVERED = [
  '/opt/containerd',
  '/run/containerd',
  '/run/netns',
  '/var/lib/cni',
  '/var/lib/kubelet',
  '/var/log/containers',
  '/var/log/pods',
  '/usr/libexec/kubernetes',
];
/** Settings of the kernel that a kubelet would change for the whole host. It sees them as it wants them. */
const SEEN = { 'kernel/panic': 10, 'kernel/panic_on_oops': 1, 'vm/overcommit_memory': 1 };

/** Prepares the mount namespace and becomes containerd. */
export const NAMESPACE = ({ root, programs, ip, cgroup }: NodeFiles): string => `set -e
mount --make-rshared /
for folder in ${COVERED.join(' ')}; do mkdir -p "$folder"; mount -t tmpfs tmpfs "$folder"; done
${Object.entries(SEEN)
  .map(([name, value]) => {
    const file = `${root}/sysctl.${name.replace('/', '.')}`;
    return `echo ${value} > ${file}; mount --bind ${file} /proc/sys/${name}`;
  })
  .join('\n')}
ip addr show dev lo | grep -q " ${ip}/" || ip addr add ${ip}/32 dev lo
for group in /sys/fs/cgroup /sys/fs/cgroup/*; do
  if [ -f "$group/cgroup.procs" ]; then
    mkdir -p "$group/${cgroup}"
    for file in cpuset.cpus cpuset.mems; do
      [ ! -f "$group/cpuset.cpus" ] || cat "$group/$file" > "$group/${cgroup}/$file"
    done
  fi
done
export PATH=${programs}:$PATH
exec ${programs}/containerd --config ${root}/containerd.toml
`;

/** Ends what containerd started, and removes what lies outside of the node's folder. */
export const END = ({ root, ip, cgroup }: NodeFiles): string => `
for file in /proc/[0-9]*/cmdline; do
  pid=\${file#/proc/}; pid=\${pid%/cmdline}
  [ "$pid" = $$ ] || ! grep -aqF -- "${root}/" "$file" 2>/dev/null || kill -9 "$pid"
done
left() { find /sys/fs/cgroup -path "*/${cgroup}/*" -name cgroup.procs -exec cat {} + 2>/dev/null | sort -u; }
for i in 1 2 3 4 5 6 7 8 9 10; do
  pids=$(left); [ -n "$pids" ] || break
  kill -9 $pids 2>/dev/null; sleep 0.2
done
find /sys/fs/cgroup -depth -type d -path "*/${cgroup}*" -exec rmdir {} + 2>/dev/null
ip addr del ${ip}/32 dev lo 2>/dev/null
rmdir -p --ignore-fail-on-non-empty ${COVERED.join(' ')} 2>/dev/null
true
`;

/** The registry of a test is on the loopback address, which is read without TLS. */
export const CONTAINERD = ({ root, programs }: NodeFiles): string => `version = 3
root = "${root}/containerd"
state = "${root}/containerd-state"
disabled_plugins = [
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.nri.v1.nri"
]
[grpc]
  address = "${root}/containerd.sock"
[ttrpc]
  address = "${root}/containerd.sock.ttrpc"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "${PAUSE_IMAGE}"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  disable_apparmor = true
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
  BinaryName = "runc"
  SystemdCgroup = false
[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = ["${programs}"]
  conf_dir = "${root}/cni-conf"
  use_internal_loopback = true
[plugins."io.containerd.grpc.v1.cri"]
  disable_tcp_service = true
`;

/** Each Pod has a pair of interfaces, and reaches the host at the node's address. */
export const CNI = ({ root, ip }: NodeFiles): string =>
  JSON.stringify({
    cniVersion: '1.0.0',
    name: 'slipway',
    plugins: [
      {
        type: 'ptp',
        ipMasq: false,
        ipam: {
          type: 'host-local',
          subnet: '10.98.0.0/24',
          dataDir: `${root}/cni-addresses`,
          routes: [{ dst: `${ip}/32` }],
        },
      },
    ],
  });

/** Returns the kubelet's configuration. It asks the API server who calls it, and what that caller may do. */
export function kubeletConfig({ root, ip, cgroup, clientCaFile }: NodeFiles & { clientCaFile: string }): string {
  return JSON.stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: ip,
    port: 10250,
    healthzPort: 0,
    readOnlyPort: 0,
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: clientCaFile } },
    authorization: { mode: 'Webhook' },
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${cgroup}`,
    failCgroupV1: false,
    failSwapOn: false,
    containerRuntimeEndpoint: `unix://${root}/containerd.sock`,
    podLogsDir: `${root}/pod-logs`,
    resolvConf: '',
    makeIPTablesUtilChains: false,
    imageGCHighThresholdPercent: 100,
    evictionHard: { 'memory.available': '100Mi' },
    volumePluginDir: `${root}/volume-plugins`,
  });
}
