/** Renders the systemd units of the parts. `deploy/systemd` holds the units of an installation in /opt/slipway. */

/** Parts that have a unit. */
export const PARTS = ['core', 'facade', 'edge', 'agent'] as const;
export type PartName = (typeof PARTS)[number];

/** Where an installation is and what it has. */
interface UnitOptions {
  /** Path of the command `slipway`. */
  program: string;
  /** Folder of the secrets and of the settings, for instance /etc/slipway. */
  configDir: string;
  /** Arguments of the part, after the unit's own. */
  args: readonly string[];
  /** Returns whether the folder of secrets has the file. Optional secrets are left out without it. */
  has(file: string): boolean;
}

/** A secret that systemd hands to a part as a file that no other user can read. */
interface Secret {
  /** Option of the part's command. */
  option: string;
  /** Name of the credential. */
  name: string;
  /** Name of the file in the folder of secrets. */
  file: string;
  optional?: true;
}

interface PartUnit {
  description: string;
  after: string;
  secrets: readonly Secret[];
  args: readonly string[];
  service: readonly string[];
}

const DATABASE_URL = { option: '--database-url-file', name: 'database-url', file: 'database-url' };
const SECRET_KEY = { option: '--secret-key-file', name: 'secret-key', file: 'secret-key' };
const ROOT_KEY: Secret = { option: '--root-key-file', name: 'root-key', file: 'root-key', optional: true };
const EDGE_KEY: Secret = { option: '--edge-key-file', name: 'edge-key', file: 'edge-key', optional: true };
/** Takes the place of the agent's key where only it exists. */
const JOIN_TOKEN = { option: '--token-file', name: 'join-token', file: 'join-token' };
const AGENT_KEY = { option: '--key-file', name: 'agent-key', file: 'agent.key' };

/**
 * Sandbox of core, facades and the edge: a user that exists only while the part runs, nothing of the host to write to,
 * no other process to see. MemoryDenyWriteExecute is missing because V8 compiles code at run time.
 */
const SANDBOX = [
  'DynamicUser=yes',
  'ProtectSystem=strict',
  'ProtectHome=yes',
  'PrivateTmp=yes',
  'PrivateDevices=yes',
  'ProtectProc=invisible',
  'ProtectClock=yes',
  'ProtectControlGroups=yes',
  'ProtectHostname=yes',
  'ProtectKernelLogs=yes',
  'ProtectKernelModules=yes',
  'ProtectKernelTunables=yes',
  'NoNewPrivileges=yes',
  'LockPersonality=yes',
  'RemoveIPC=yes',
  'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK',
  'RestrictNamespaces=yes',
  'RestrictRealtime=yes',
  'RestrictSUIDSGID=yes',
  'SystemCallArchitectures=native',
  'SystemCallErrorNumber=EPERM',
  'UMask=0077',
];
const CLOSED = [
  ...SANDBOX,
  'CapabilityBoundingSet=',
  'PrivateUsers=yes',
  'SystemCallFilter=@system-service',
  'SystemCallFilter=~@privileged @resources',
];

/** Capabilities that neither the agent nor anything that it starts has. */
const NOT_OF_AGENTS = [
  ...['CAP_SYS_MODULE', 'CAP_SYS_BOOT', 'CAP_SYS_TIME', 'CAP_SYS_PACCT', 'CAP_SYS_TTY_CONFIG', 'CAP_WAKE_ALARM'],
  ...['CAP_MAC_ADMIN', 'CAP_MAC_OVERRIDE', 'CAP_AUDIT_CONTROL', 'CAP_AUDIT_READ', 'CAP_BLOCK_SUSPEND', 'CAP_LEASE'],
  'CAP_LINUX_IMMUTABLE',
];

const UNITS: Readonly<Record<PartName, PartUnit>> = {
  core: {
    description: 'Slipway core: scheduling, job storage, scaling',
    after: 'network-online.target postgresql.service',
    secrets: [DATABASE_URL, SECRET_KEY, ROOT_KEY, EDGE_KEY],
    args: [],
    // A migration may take long, and must not be killed.
    service: ['TimeoutStartSec=infinity', ...CLOSED],
  },
  facade: {
    description: 'Slipway facade: HTTP',
    after: 'network-online.target slipway-core.service',
    secrets: [EDGE_KEY],
    args: [],
    service: CLOSED,
  },
  edge: {
    description: 'Slipway edge: Envoy in front of facades and core',
    after: 'network-online.target slipway-facade.service slipway-core.service',
    secrets: [EDGE_KEY],
    args: ['--data-dir', '%S/slipway-edge'],
    service: [
      ...SANDBOX,
      'StateDirectory=slipway-edge',
      'StateDirectoryMode=0700',
      '# Ports below 1024, and certificates that only root can read: credentials would not follow their renewal.',
      'AmbientCapabilities=CAP_NET_BIND_SERVICE CAP_DAC_READ_SEARCH',
      'CapabilityBoundingSet=CAP_NET_BIND_SERVICE CAP_DAC_READ_SEARCH',
      'InaccessiblePaths=-/etc/shadow -/etc/gshadow -/etc/ssh',
      'InaccessiblePaths=-/etc/slipway/secret-key -/etc/slipway/root-key -/etc/slipway/database-url',
      'SystemCallFilter=@system-service',
    ],
  },
  agent: {
    description: 'Slipway agent: runs workers and pods on this machine',
    after: 'network-online.target docker.service podman.socket',
    secrets: [AGENT_KEY],
    args: ['--worker-user', 'per-account', '--data-dir', '%S/slipway-agent'],
    // The agent gives workers their users, mounts volumes where container engines see them, and sets firewall rules.
    // So it is root, in the mount namespace of the host.
    service: [
      'StateDirectory=slipway-agent',
      'StateDirectoryMode=0711',
      'LockPersonality=yes',
      'RestrictRealtime=yes',
      'SystemCallArchitectures=native',
      'SystemCallErrorNumber=EPERM',
      'SystemCallFilter=~@module @reboot @swap @clock @obsolete',
      `CapabilityBoundingSet=~${NOT_OF_AGENTS.join(' ')}`,
    ],
  },
};

/** Returns the secrets that the unit of a part passes on: all required ones, and the optional ones that exist. */
export function secretsOf(part: PartName, { has }: Pick<UnitOptions, 'has'>): Secret[] {
  const joins = part === 'agent' && has(JOIN_TOKEN.file) && !has(AGENT_KEY.file);
  if (joins) return [JOIN_TOKEN];
  return UNITS[part].secrets.filter(({ file, optional }) => !optional || has(file));
}

/** Returns the unit of a part. */
export function renderUnit(part: PartName, options: UnitOptions): string {
  const { program, configDir, args } = options;
  const { description, after, args: own, service } = UNITS[part];
  const secrets = secretsOf(part, options);
  const kept = args.includes('--worker-user') ? own.slice(2) : own;
  const byFile = secrets.flatMap(({ option, name }) => [option, `%d/${name}`]);
  const command = [quote(program), part, ...byFile, ...kept, ...args.map(quote)].join(' ');
  const lines = [
    '[Unit]',
    `Description=${description}`,
    `After=${after}`,
    'Wants=network-online.target',
    'StartLimitIntervalSec=0',
    '',
    '[Service]',
    'Type=notify',
    'NotifyAccess=all',
    `ExecStart=${command}`,
    `EnvironmentFile=-${configDir}/${part}.env`,
    ...secrets.map(({ name, file }) => `LoadCredential=${name}:${configDir}/${file}`),
    `CacheDirectory=slipway-${part}`,
    `Environment=NODE_COMPILE_CACHE=%C/slipway-${part}`,
    'Restart=always',
    'RestartSec=2',
    '# SIGTERM goes to the part alone, which ends what it started: Envoy after its requests, workers after their jobs.',
    'KillMode=mixed',
    'TimeoutStopSec=90',
    'LimitNOFILE=65536',
    ...service,
    '',
    '[Install]',
    'WantedBy=multi-user.target',
    '',
  ];
  return lines.join('\n');
}

/** Quotes an argument as systemd reads it. */
function quote(argument: string): string {
  const escaped = argument.replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[\w@%+=:,./$-]+$/.test(escaped) ? escaped : `"${escaped.replace(/["\\]/g, '\\$&')}"`;
}
