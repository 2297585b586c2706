/**
 * Plan of core on this machine. No particular port was asked for, so a taken one is no error. Core keeps its port
 * from run to run where it can and takes any other port where it cannot. For the launcher's life the port stays the
 * same.
 */
import { CORE_ENVIRONMENT } from '@slipway/kit/host/node-settings';
import { keepPort, previousPort } from '../ports.ts';
import type { NodeProcessOptions } from './node-process.ts';
import { nodeProcess } from './node-process.ts';
import type { ProcessPlan } from './supervised-process.ts';

const PORT_WISHED = 50_051;

/** Options of core's process, and the file that keeps the port between runs. */
interface CoreProcessOptions extends Omit<NodeProcessOptions, 'name' | 'file'> {
  portFile: string;
  /** Another address to listen on, host:port. Default: none. */
  joinAddress?: string | undefined;
}

/** Makes the plan. Core is ready when its gRPC address (host:port) is known. */
export async function coreProcess({
  portFile,
  joinAddress,
  ...options
}: CoreProcessOptions): Promise<ProcessPlan<string>> {
  let port = await previousPort(portFile, PORT_WISHED);
  const plan = nodeProcess({
    ...options,
    name: 'core',
    file: 'core/main',
    env: () => ({
      ...CORE_ENVIRONMENT,
      ...options.env(),
      SLIPWAY_CORE_LISTEN: [`127.0.0.1:${port}`, ...(joinAddress === undefined ? [] : [joinAddress])].join(),
    }),
  });
  return {
    ...plan,
    whenReady: async (child, signal) => {
      const { address = '' } = await plan.whenReady(child, signal);
      port = Number(address.slice(address.lastIndexOf(':') + 1));
      keepPort(portFile, port);
      return address;
    },
    // Somebody may have taken the port after it was checked, perhaps only for a moment. A port that the kernel chooses
    // cannot be lost.
    triesAgain: () => {
      const again = port !== 0;
      port = 0;
      return again;
    },
  };
}
