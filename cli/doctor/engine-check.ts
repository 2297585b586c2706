/** Checks the container engine: whether there is one, and what it cannot do. */
import type { IncomingMessage } from 'node:http';
import { request } from '@slipway/kit/net/node-http';
import { within } from '@slipway/kit/time/clock';
import type { Cli } from '../cli.ts';
import type { Finding } from './finding.ts';
import { fail, ok, warn } from './finding.ts';

/** Response of `GET /info` of Docker and Podman. */
interface EngineInfo {
  ServerVersion?: string;
  CgroupVersion?: string;
  MemoryLimit?: boolean;
  CpuCfsQuota?: boolean;
  PidsLimit?: boolean;
  Runtimes?: Readonly<Record<string, unknown>>;
  CDISpecDirs?: readonly string[] | null;
  SecurityOptions?: readonly string[] | null;
}

const ANSWER_MS_MAX = 5_000;
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
const INSTALL = 'Install Docker or Podman for images, or join with --containers none for commands of the host alone.';

/** Returns the findings. `hasGpus`: containers must get GPUs. */
export async function engineChecks(cli: Cli, setting: string | undefined, hasGpus: boolean): Promise<Finding[]> {
  if (setting === 'none') return [ok('engine', 'none, as --containers says: images cannot run here')];
  const refused: string[] = [];
  for (const socket of socketsOf(cli, setting)) {
    try {
      const info = await within(cli.clock, ANSWER_MS_MAX, cli.stopping, (signal) => ask(socket, signal));
      return engineFindings(socket, info, hasGpus);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === 'EACCES') return [fail('engine', `${socket} is closed to this user`, 'Add the user to its group.')];
      if (code !== 'ENOENT') refused.push(`${socket}: ${code ?? message}`);
    }
  }
  return refused.length > 0
    ? [fail('engine', refused.join('; '), 'Start the engine, for instance: systemctl start docker')]
    : [warn('engine', 'there is none', INSTALL)];
}

/** Returns the findings about an engine that answers. */
export function engineFindings(socket: string, info: EngineInfo, hasGpus: boolean): Finding[] {
  const cannot = [
    info.MemoryLimit === false ? 'limit memory' : '',
    info.CpuCfsQuota === false ? 'limit processors' : '',
    info.PidsLimit === false ? 'limit processes' : '',
  ].filter(Boolean);
  const isRootless = info.SecurityOptions?.some((option) => option.includes('rootless')) === true;
  const name = `${info.ServerVersion ?? 'an engine'} at ${socket}${isRootless ? ', rootless' : ''}`;
  const findings = [
    cannot.length === 0
      ? ok('engine', name)
      : warn(
          'engine',
          `${name} cannot ${cannot.join(', ')}`,
          'Use cgroups of version 2, and an engine that runs as root.',
        ),
  ];
  if (hasGpus && !info.Runtimes?.['nvidia'] && (info.CDISpecDirs ?? []).length === 0)
    findings.push(
      fail(
        'engine GPUs',
        'it knows neither the NVIDIA runtime nor CDI',
        'Install nvidia-container-toolkit, then: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml',
      ),
    );
  return findings;
}

function socketsOf({ config }: Cli, setting: string | undefined): string[] {
  if (setting !== undefined && setting !== 'auto') return [setting.replace(/^unix:\/\//, '')];
  const { DOCKER_HOST: docker = '', XDG_RUNTIME_DIR: runtime } = config.env;
  return [
    ...(docker.startsWith('unix://') ? [docker.slice('unix://'.length)] : []),
    '/var/run/docker.sock',
    '/run/podman/podman.sock',
    ...(runtime ? [`${runtime}/docker.sock`, `${runtime}/podman/podman.sock`] : []),
  ];
}

function ask(socketPath: string, signal: AbortSignal): Promise<EngineInfo> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, path: '/info', signal }, (response) => {
      infoOf(response).then(resolve, reject);
    });
    sent.once('error', reject);
    sent.end();
  });
}

async function infoOf(response: IncomingMessage): Promise<EngineInfo> {
  let text = '';
  for await (const part of response) {
    text += String(part);
    if (text.length > ANSWER_BYTES_MAX) throw new Error('answers too much');
  }
  if (response.statusCode !== 200) throw new Error(`answers with status ${response.statusCode}`);
  return JSON.parse(text) as EngineInfo;
}
