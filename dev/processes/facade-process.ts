/**
 * Plan of the HTTP facade. Its port is the user's own request, so a taken one is an error that says so, and never
 * another port.
 */

import { UsageError } from '../options.ts';
import { portProblem } from '../ports.ts';
import type { NodeProcessOptions, ReadyMessage } from './node-process.ts';
import { nodeProcess } from './node-process.ts';
import type { ProcessPlan } from './supervised-process.ts';

/** What to run and where it listens. */
export interface FacadeProcessOptions extends Omit<NodeProcessOptions, 'name' | 'file'> {
  host: string;
  port: number;
}

/** Makes the plan. Its start throws UsageError when somebody else has the port. */
export function facadeProcess({ host, port, ...options }: FacadeProcessOptions): ProcessPlan<ReadyMessage> {
  return {
    ...nodeProcess({
      ...options,
      name: 'facade',
      file: 'facades/main.ts',
      env: () => ({ ...options.env(), SLIPWAY_HTTP_HOST: host, SLIPWAY_HTTP_PORT: String(port) }),
    }),
    triesAgain: async (failures) => {
      const problem = await portProblem(port, host);
      if (problem !== undefined) throw new UsageError(problem);
      // Free by now: who had it may have had it for a moment only.
      return failures === 1;
    },
  };
}
