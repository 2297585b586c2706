/**
 * Calls of NVIDIA's driver that move the GPU memory of another process to host memory and back. Only the helper process
 * (driver-helper.ts) uses them: a call to a stopped process never returns.
 */

/** A call to the driver failed. */
export class DriverCallError extends Error {
  /** The call, for instance `checkpoint`. */
  readonly call: string;

  constructor(call: string, pid: number, code: string) {
    super(`${call} of process ${pid}: ${code}`);
    this.call = call;
  }
}

/** The calls. All reject with DriverCallError. */
export interface DriverCalls {
  /** Waits for running kernels, at most so long, and blocks new calls of the process. */
  lock(pid: number, timeoutMs: number): Promise<void>;
  /** Moves the memory of a locked process to host memory. Its GPUs keep nothing of it. */
  checkpoint(pid: number): Promise<void>;
  /** Moves it back. The process stays locked. Without free memory it fails, and so does every later restore. */
  restore(pid: number): Promise<void>;
  unlock(pid: number): Promise<void>;
}

type Pointer = Uint8Array | null;
/** A function of a C library that runs on another thread. */
interface NativeFunction {
  (...args: unknown[]): number;
  async(...args: [...unknown[], (error: Error | null, result: number) => void]): void;
}

/** The part of koffi that is used. The package is optional: it has no binaries for some platforms. */
interface Koffi {
  load(name: string): { func(prototype: string): NativeFunction };
}

const KOFFI = 'koffi';
const LIBRARY = 'libcuda.so.1';
/** Size of CUcheckpointLockArgs; its first field is the timeout in milliseconds. */
const LOCK_ARGS_BYTES = 64;
/** The state in which nothing of a process is on a GPU (CU_PROCESS_STATE_CHECKPOINTED). */
const CHECKPOINTED = 2;

/**
 * Opens the driver: itself, or through NVIDIA's program where Node cannot load it. Rejects with an Error for people if
 * this machine cannot move GPU memory. `program`: finds the calls of that program.
 */
export async function openDriver(program: () => Promise<DriverCalls | undefined>): Promise<DriverCalls> {
  let library: Awaited<ReturnType<typeof loadLibrary>>;
  try {
    library = await loadLibrary();
  } catch (error) {
    const calls = await program();
    if (calls) return calls;
    throw error;
  }
  return libraryCalls(library);
}

function libraryCalls(library: ReturnType<Koffi['load']>): DriverCalls {
  const find = (prototype: string): NativeFunction => {
    try {
      return library.func(prototype);
    } catch {
      throw new Error('the driver is older than 570');
    }
  };
  const init = find('int cuInit(unsigned int)');
  const functions = {
    lock: find('int cuCheckpointProcessLock(int, void *)'),
    checkpoint: find('int cuCheckpointProcessCheckpoint(int, void *)'),
    restore: find('int cuCheckpointProcessRestore(int, void *)'),
    unlock: find('int cuCheckpointProcessUnlock(int, void *)'),
    'read state': find('int cuCheckpointProcessGetState(int, _Out_ int *)'),
  };
  const nameOf = errorNames(find('int cuGetErrorName(int, _Out_ const char **)'));
  const failed = init(0);
  if (failed !== 0) throw new Error(`the driver does not start: ${nameOf(failed)}`);
  const call = async (name: keyof typeof functions, pid: number, args: Pointer | number[] = null): Promise<void> => {
    const code = await new Promise<number>((resolve, reject) => {
      functions[name].async(pid, args, (error, result) => (error ? reject(error) : resolve(result)));
    });
    if (code !== 0) throw new DriverCallError(name, pid, nameOf(code));
  };
  return {
    lock: (pid, timeoutMs) => call('lock', pid, lockArgs(timeoutMs)),
    checkpoint: async (pid) => {
      await call('checkpoint', pid);
      const state = [-1];
      await call('read state', pid, state);
      if (state[0] !== CHECKPOINTED) throw new DriverCallError('checkpoint', pid, `state ${state[0]}`);
    },
    restore: (pid) => call('restore', pid),
    unlock: (pid) => call('unlock', pid),
  };
}

async function loadLibrary(): Promise<ReturnType<Koffi['load']>> {
  let koffi: Koffi;
  try {
    koffi = ((await import(KOFFI)) as { default: Koffi }).default;
  } catch {
    throw new Error('the npm package koffi is not installed');
  }
  try {
    return koffi.load(LIBRARY);
  } catch {
    throw new Error(`${LIBRARY} was not found`);
  }
}

function errorNames(find: NativeFunction): (code: number) => string {
  return (code) => {
    const name = [''];
    return find(code, name) === 0 && name[0] ? name[0] : `CUDA error ${code}`;
  };
}

function lockArgs(timeoutMs: number): Uint8Array {
  const args = new DataView(new ArrayBuffer(LOCK_ARGS_BYTES));
  args.setUint32(0, timeoutMs, true);
  return new Uint8Array(args.buffer);
}
