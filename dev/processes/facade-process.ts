/**
 * Plan of the HTTP facade. The user asked for its port, so a taken port is an error that says so. The facade never
 * takes another port.
 */

import { UsageError } from '../options.ts';
import { portProblem } from '../ports.ts';
import type { NodeProcessOptions, ReadyMessage } from './node-process.ts';
import { nodeProcess } from './node-process.ts';
import type { ProcessPlan } from './supervised-process.ts';

/** Options of the facade's process, and the address that it listens on. */
interface FacadeProcessOptions extends Omit<NodeProcessOptions, 'name' | 'file'> {
  host: string;
  port: number;
}

/** Makes the plan. Its start throws UsageError if another program has the port. */
export function facadeProcess({ host, port, ...options }: FacadeProcessOptions): ProcessPlan<ReadyMessage> {
  return {
    ...nodeProcess({
      ...options,
      name: 'facade',
      file: 'facades/main',
      env: () => ({ ...options.env(), SLIPWAY_HTTP_HOST: host, SLIPWAY_HTTP_PORT: String(port) }),
    }),
    triesAgain: async (failures) => {
      const problem = await portProblem(port, host);
      if (problem !== undefined) throw new UsageError(problem);
      // The port is free by now: another program may have held it only for a moment.
      return failures === 1;
    },
  };
}
