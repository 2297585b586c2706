/** The command by which a machine joins, for each way to run an agent. */
import { commandLine } from '../output/words.ts';
import { CLI_VERSION } from '../parts/installed.ts';

/** Ways to run an agent. */
export type JoinForm = 'command' | 'systemd' | 'container';

interface JoinFacts {
  /** host:port. */
  address: string;
  token: string;
  /** Further options of the agent. */
  options?: readonly string[];
}

const TOKEN_FILE = '/etc/slipway/join-token';
const DATA_DIR = '/var/lib/slipway-agent';
const SOCKET = '/var/run/docker.sock';

/** Stands for the address of a core that names none. */
export const UNKNOWN = 'CORE:50051';

/** The words `slipway machines token --for` takes, with themselves. */
export const JOIN_FORMS = { command: 'command', systemd: 'systemd', container: 'container' } as const;

/** Returns the line. It contains the token. */
export function joinLine(form: JoinForm, { address, token, options = [] }: JoinFacts): string {
  const agent = ['--join', address, ...options];
  if (form === 'command') return commandLine(['slipway', 'agent', '--join', address, '--token', token, ...options]);
  if (form === 'systemd')
    return (
      `(umask 077 && mkdir -p /etc/slipway && echo ${token} > ${TOKEN_FILE}) && ` +
      `${commandLine(['slipway', 'install', 'agent', '--', ...agent])} && ` +
      'systemctl daemon-reload && systemctl enable --now slipway-agent'
    );
  // As in deploy/compose.yaml.
  const host = ['--network', 'host', '--pid', 'host', '--privileged', '--restart', 'unless-stopped'];
  const volumes = ['-v', `${SOCKET}:${SOCKET}`, '-v', `${DATA_DIR}:${DATA_DIR}:rshared`];
  const settings = ['-e', `SLIPWAY_JOIN_TOKEN=${token}`, '-e', `SLIPWAY_AGENT_CONTAINERS=${SOCKET}`];
  const run = [
    'docker',
    'run',
    '-d',
    '--name',
    'slipway-agent',
    '--stop-timeout',
    '90',
    ...host,
    ...volumes,
    ...settings,
  ];
  return commandLine([...run, `localhost/slipway-agent:${CLI_VERSION}`, 'agent', ...agent]);
}
