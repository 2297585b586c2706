/** Stores changed reports of what a machine can offload. */
import type { GpuOffload } from '@slipway/proto/gen/slipway/v1/machine';
import type { MachineSession } from '../../store/machines/machine-store.ts';
import { offloadFromMessage } from '../offload-messages.ts';
import type { SessionContext } from './session-context.ts';

/** Stores a report. `undefined`: nothing changed. If the write fails, the hello of the next session has it. */
export function reportOffload(
  { table, machines, logger }: Pick<SessionContext, 'table' | 'machines' | 'logger'>,
  session: MachineSession,
  message: GpuOffload | undefined,
): void {
  const offload = offloadFromMessage(message);
  if (!offload) return;
  const written = machines.reportOffload(session, offload);
  table.own(
    written.catch((error: unknown) => logger.warn({ err: error, ...session }, 'offload of a machine was not written')),
  );
}
