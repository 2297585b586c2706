/** Checks GPUs: their driver, persistence mode, MIG and memory errors. */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { within } from '@slipway/kit/time/clock';
import type { Cli } from '../cli.ts';
import type { Finding } from './finding.ts';
import { fail, ok, warn } from './finding.ts';

const QUERY =
  'index,name,memory.total,driver_version,persistence_mode,mig.mode.current,ecc.errors.uncorrected.volatile.total';
const ANSWER_MS_MAX = 20_000;
const NVIDIA = '0x10de';
/** PCI classes of displays and of accelerators without one. */
const GPU_CLASS = /^0x03|^0x12/;

/** Returns the findings, and how many GPUs the driver lists. */
export async function gpuChecks(cli: Cli): Promise<{ findings: Finding[]; count: number }> {
  const present = gpusOfBus();
  let output: string;
  try {
    output = await within(cli.clock, ANSWER_MS_MAX, cli.stopping, (signal) => askDriver(signal));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && present === 0) return { findings: [ok('GPUs', 'none on this machine')], count: 0 };
    const what = code === 'ENOENT' ? 'nvidia-smi is not installed' : `nvidia-smi: ${message.split('\n')[0]}`;
    const fix = 'Install the NVIDIA driver, or load it again after an update (reboot).';
    return { findings: [fail('driver', `${what}; the machine has ${present} GPUs`, fix)], count: 0 };
  }
  return gpuFindings(output, present);
}

/** Returns the findings about what nvidia-smi answered. `present`: GPUs that the bus has. */
export function gpuFindings(output: string, present: number): { findings: Finding[]; count: number } {
  const gpus = output
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => line.split(',').map((value) => value.trim()));
  const indices = (is: (gpu: string[]) => boolean): string =>
    gpus
      .filter(is)
      .map(([index]) => index)
      .join(', ');
  const findings: Finding[] = [
    ok('driver', gpus[0]?.[3] ?? 'answers'),
    gpus.length >= present && gpus.length > 0
      ? ok('GPUs', namesOf(gpus))
      : fail(
          'GPUs',
          `the driver lists ${gpus.length} of ${present}`,
          'Look for XID errors with dmesg; reseat or reset the others.',
        ),
  ];
  const idle = indices(([, , , , persistence]) => persistence === 'Disabled');
  findings.push(
    idle === ''
      ? ok('persistence mode', 'on')
      : warn(
          'persistence mode',
          `off on GPU ${idle}: each first start takes seconds`,
          'nvidia-smi -pm 1, or nvidia-persistenced',
        ),
  );
  const split = indices(([, , , , , mig]) => mig === 'Enabled');
  findings.push(ok('MIG', split === '' ? 'off' : `on GPU ${split}; its instances are used as GPUs`));
  const broken = indices(([, , , , , , errors]) => Number(errors) > 0);
  if (broken !== '')
    findings.push(
      fail('GPU memory', `uncorrected errors on GPU ${broken}`, 'Reset the GPU; replace it if they return.'),
    );
  return { findings, count: gpus.length };
}

function namesOf(gpus: readonly string[][]): string {
  const kinds = gpus.map(([, name, mib]) => `${name} (${mib} MiB)`);
  return [...new Set(kinds)].map((kind) => `${kinds.filter((other) => other === kind).length} × ${kind}`).join(', ');
}

function askDriver(signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const args = [`--query-gpu=${QUERY}`, '--format=csv,noheader,nounits'];
    execFile('nvidia-smi', args, { signal }, (error, stdout) => (error ? reject(error) : resolve(stdout)));
  });
}

/** Returns how many NVIDIA GPUs are on the bus, with or without a driver. */
function gpusOfBus(root = '/sys/bus/pci/devices'): number {
  const read = (device: string, name: string): string => readFileSync(join(root, device, name), 'utf8').trim();
  try {
    return readdirSync(root).filter(
      (device) => read(device, 'vendor') === NVIDIA && GPU_CLASS.test(read(device, 'class')),
    ).length;
  } catch {
    return 0;
  }
}
