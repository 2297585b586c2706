/**
 * A machine with a container engine and without commands, for tests of what is placed there: its agent starts nothing.
 */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import type { Test } from 'tap';
import { ScriptedAgent } from '../grpc/scripted-agent.ts';
import type { ScriptedAgentOptions } from '../grpc/scripted-agent-options.ts';
import type { System } from './system.ts';

/** Joins it to a system; it leaves with the test. */
export async function joinEngineMachine(
  t: Test,
  system: System,
  options: Partial<ScriptedAgentOptions> = {},
): Promise<ScriptedAgent> {
  const agentKey = await system.newKey(KeyScope.AGENT);
  const agent = new ScriptedAgent({
    address: system.cores[0]!.address,
    agentKey,
    machineId: 'engines00000',
    runsCommands: false,
    ...options,
  });
  t.teardown(() => agent.drop());
  await agent.connect();
  return agent;
}
