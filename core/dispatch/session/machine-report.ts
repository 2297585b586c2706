/** Stores what a session reports of its machine: a changed offload, and that it leaves. */
import type { SessionRequest } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { MachineSession } from '../../store/machines/machine-store.ts';
import { offloadFromMessage } from '../offload-messages.ts';
import type { SessionContext } from './session-context.ts';

/**
 * Stores a report in the background. If the write of an offload fails, the hello of the next session has it. A machine
 * whose leaving was not written is forgotten once it was away for long.
 */
export function reportMachine(
  { table, machines, ephemeral, logger }: Pick<SessionContext, 'table' | 'machines' | 'ephemeral' | 'logger'>,
  session: MachineSession,
  { gpuOffload, leaving }: Pick<SessionRequest, 'gpuOffload' | 'leaving'>,
): void {
  const offload = offloadFromMessage(gpuOffload);
  const own = (written: Promise<void>, failure: string): void => {
    table.own(written.catch((error: unknown) => logger.warn({ err: error, ...session }, failure)));
  };
  if (offload) own(machines.reportOffload(session, offload), 'offload of a machine was not written');
  if (leaving) own(ephemeral.leave(session), 'a leaving machine was not recorded');
}
