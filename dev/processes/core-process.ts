/**
 * Plan of core on this machine. Nobody asked for its port, so a taken one is no reason to give up: it is the same from
 * run to run where it can be had, any other where it cannot, and always the same for the launcher's life.
 */
import { CORE_ENVIRONMENT } from '@slipway/kit/host/node-settings';
import { keepPort, keptPort } from '../ports.ts';
import type { NodeProcessOptions } from './node-process.ts';
import { nodeProcess } from './node-process.ts';
import type { ProcessPlan } from './supervised-process.ts';

const PORT_WISHED = 50_051;

/** What to run, and the file that keeps the port between runs. */
export interface CoreProcessOptions extends Omit<NodeProcessOptions, 'name' | 'file'> {
  portFile: string;
}

/** Makes the plan; ready means its gRPC address, host:port. */
export async function coreProcess({ portFile, ...options }: CoreProcessOptions): Promise<ProcessPlan<string>> {
  let port = await keptPort(portFile, PORT_WISHED);
  const plan = nodeProcess({
    ...options,
    name: 'core',
    file: 'core/main.ts',
    env: () => ({ ...CORE_ENVIRONMENT, ...options.env(), SLIPWAY_CORE_LISTEN: `127.0.0.1:${port}` }),
  });
  return {
    ...plan,
    whenReady: async (child, signal) => {
      const { address = '' } = await plan.whenReady(child, signal);
      port = Number(address.slice(address.lastIndexOf(':') + 1));
      keepPort(portFile, port);
      return address;
    },
    // The port may have been lost after it was looked at, for a moment only perhaps. The kernel's own choice cannot be.
    triesAgain: () => {
      const again = port !== 0;
      port = 0;
      return again;
    },
  };
}
