/**
 * A GPU driver for tests on a machine without a GPU: libcuda.so.1, nvidia-smi and cuda-checkpoint, compiled from
 * stand-in.c. A program that calls `fake_alloc` of that library becomes a CUDA process.
 */
import type { ChildProcess } from 'node:child_process';
import { execFile, spawn } from 'node:child_process';
import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { Test } from 'tap';

const run = promisify(execFile);
const SOURCE = join(import.meta.dirname, 'stand-in.c');
const GCC = '/usr/bin/gcc';
export const MIB = 1024 * 1024;

/** For tap's `skip` option: false if the stand-in can be compiled and reached here. */
export const cudaSkip: false | string =
  process.platform !== 'linux' || !existsSync(GCC) || !existsSync('/usr/bin/python3')
    ? 'needs Linux with gcc and python3'
    : false;

/** Calls of the driver that can be made to fail. */
export type DriverCall = 'lock' | 'checkpoint' | 'restore' | 'unlock' | 'state';

/** Codes of CUresult. */
export const CUDA = { OUT_OF_MEMORY: 2, OPERATING_SYSTEM: 304, NOT_PERMITTED: 800, NOT_SUPPORTED: 801 } as const;

export type CudaStandIn = Awaited<ReturnType<typeof startCuda>>;

/** Compiles a driver with these cards, in MiB by UUID, and removes it when the test ends. */
export async function startCuda(
  t: Test,
  { cards, driver = '580.95' }: { cards: Record<string, number>; driver?: string },
) {
  // Not below the test's own folder: the path of a socket has at most 107 characters.
  const folder = await mkdtemp('/tmp/slipway-cuda-');
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  // Workers may run as another user.
  await chmod(folder, 0o777);
  const options = ['-O1', '-Wno-format-truncation', `-DFOLDER="${folder}"`, SOURCE, '-lpthread'];
  await Promise.all([
    run(GCC, ['-shared', '-fPIC', '-o', join(folder, 'libcuda.so.1'), ...options]),
    run(GCC, ['-DSMI', '-o', join(folder, 'nvidia-smi'), ...options]),
    run(GCC, ['-DPROGRAM', '-o', join(folder, 'cuda-checkpoint'), ...options]),
  ]);
  const write = (name: string, text: string): Promise<void> => writeFile(join(folder, name), text);
  await write('driver', driver);
  await write(
    'cards',
    Object.entries(cards)
      .map(([uuid, mib]) => `${uuid} ${mib} NVIDIA L4\n`)
      .join(''),
  );
  await write('lock', '');
  await write('log', '');
  for (const name of ['lock', 'log']) await chmod(join(folder, name), 0o666);
  const smi = async (...args: string[]): Promise<string> => (await run(join(folder, 'nvidia-smi'), args)).stdout;
  return {
    folder,
    library: join(folder, 'libcuda.so.1'),
    /** Variables with which a program finds the driver. */
    env: { PATH: `${folder}${delimiter}${process.env['PATH']}`, LD_LIBRARY_PATH: folder },
    smi,
    /** Makes one call of this kind slow and end with this code: the next one after `skip` calls that succeed. */
    fault: (call: DriverCall, { code = 0, lateMs = 0, skip = 0 }): Promise<void> =>
      write(`fault.${call}`, `${code} ${lateMs} ${skip}`),
    /** Returns whether a planned fault has not been met yet. */
    plans: async (call: DriverCall): Promise<boolean> => existsSync(join(folder, `fault.${call}`)),
    /** Sets how long moves take: milliseconds per GiB out and back, and of any restore. */
    pace: (out: number, back: number, least = 0): Promise<void> => write('speed', `${out} ${back} ${least}`),
    /** Sets how many MiB of each card the driver keeps for itself. */
    reserve: (mib: number): Promise<void> => write('reserved', String(mib)),
    /** Returns the used memory of a card in MiB. */
    used: async (uuid: string): Promise<number> => {
      const rows = (await smi('--query-gpu=uuid,memory.used', '--format=csv,noheader,nounits')).split('\n');
      return Number(rows.find((row) => row.startsWith(`${uuid},`))?.split(',')[1]);
    },
    /** Returns the calls that processes have answered so far: `lock 0`, with the code. */
    calls: async (): Promise<string[]> =>
      (await readFile(join(folder, 'log'), 'utf8'))
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => line.replace(/ \d+ /, ' ')),
    forgetCalls: (): Promise<void> => write('log', ''),
    /** Returns the state of a process of this namespace: 0 running, 1 locked, 2 checkpointed. */
    stateOf: (pid: number): number => {
      const namespace = /\d+/.exec(readlinkSync(`/proc/${pid}/ns/pid`))![0];
      return Number(readFileSync(join(folder, `p.${namespace}.${pid}`), 'utf8').split(' ')[1]);
    },
    /** Starts a process that holds so many MiB of each card, until its test ends. */
    process: (t: Test, held: Record<string, number>) => startCudaProcess(t, join(folder, 'libcuda.so.1'), held),
  };
}

/** Allocates memory on cards. For each input line it prints how many bytes it holds, once the driver lets it run. */
const PROGRAM = `
import ctypes, sys
cuda = ctypes.CDLL(sys.argv[1])
cuda.fake_alloc.argtypes = [ctypes.c_char_p, ctypes.c_longlong]
cuda.fake_use.restype = ctypes.c_longlong
codes = [cuda.fake_alloc(card.split('=')[0].encode(), int(card.split('=')[1])) for card in sys.argv[2:]]
print(max(codes), flush=True)
for line in sys.stdin:
    print(cuda.fake_use(), flush=True)
`;

/** Starts a process that holds so many MiB of each card. */
async function startCudaProcess(t: Test, library: string, held: Record<string, number>) {
  const cards = Object.entries(held).map(([uuid, mib]) => `${uuid}=${mib * MIB}`);
  const child: ChildProcess = spawn('/usr/bin/python3', ['-c', PROGRAM, library, ...cards], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
  });
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  t.teardown(kill);
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  const code = Number((await lines.next()).value);
  if (code !== 0) throw new Error(`a process got no memory: ${code}`);
  return {
    pid: child.pid!,
    kill,
    signal: (signal: NodeJS.Signals) => child.kill(signal),
    /** Runs a kernel. Returns what the process holds, in MiB. */
    use: async (): Promise<number> => {
      child.stdin!.write('use\n');
      return Number((await lines.next()).value) / MIB;
    },
  };
}
