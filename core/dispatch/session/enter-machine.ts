/**
 * Registers a session as owner of its machine. It replaces an earlier session of the same agent, but not a session of
 * another agent. Two agents have one machine id if a data folder was copied; they would end each other's work again
 * and again.
 */
import type { Logger } from '@slipway/kit/log/logger';
import type { Hello } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { MachineAttempt } from '../../domain/jobs/job.ts';
import { WELCOME_MS_MIN } from '../../domain/machines/lease.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import { invalid } from '../../domain/settings/fields.ts';
import type { LeaseHolder } from '../../store/machines/machine-joining.ts';
import type { MachineFacts } from '../../store/machines/machine-rows.ts';
import type { Stores } from '../../store/storage.ts';
import type { LiveSession } from '../live-session.ts';
import type { SessionTable } from '../session-table.ts';
import { attemptId } from '../slot-pool.ts';

interface LeaveOptions {
  table: SessionTable;
  machines: Pick<Stores['machines'], 'leave'>;
  logger: Logger;
}

const INSTANCE = /^[\w-]{0,64}$/;

interface EnterOptions {
  table: SessionTable;
  machines: Pick<Stores['machines'], 'join'>;
  gpuHealth: Pick<Stores['gpuHealth'], 'seen' | 'record'>;
  ephemeral: Pick<Stores['ephemeral'], 'begin'>;
  /** Returns the address at which other replicas reach this one. */
  replicaAddress(): string;
  /** Called when workers of these endpoints are drained because a GPU has failed. */
  onDrained(endpointIds: readonly string[]): void;
}

/** Returns the agent's instance from its hello. INVALID_REQUEST: malformed (see agent_service.proto). */
export function instanceOf({ instance, replaces }: Hello): string {
  if (INSTANCE.test(instance) && INSTANCE.test(replaces)) return instance;
  throw invalid('hello.instance and hello.replaces must be letters, digits, - and _, at most 64');
}

/**
 * Takes over the machine. From then on an earlier session on this replica claims nothing, and one on another replica is
 * fenced by the row. Throws IN_USE if another agent holds the machine.
 */
export async function enterMachine(
  session: LiveSession,
  replaces: string,
  machine: MachineFacts,
  options: EnterOptions,
): Promise<void> {
  const { table, machines, gpuHealth, ephemeral, replicaAddress, onDrained } = options;
  const { id: sessionId, instance } = session;
  const before = table.get(machine.id);
  const heldHere = before?.isOpen ?? false;
  // Only the row decides whether another agent's session ends, so until then that session is left alone.
  if (!before || before.instance === instance) table.enter(session);
  const gpus = await gpuHealth.seen(machine.id, machine.gpus);
  const facts = { ...machine, gpus };
  const holder = await machines.join(facts, {
    sessionId,
    replicaAddress: replicaAddress(),
    instance,
    replaces,
    heldHere,
  });
  if (holder) throw new DomainError('IN_USE', heldText(machine.id, holder));
  // The agent may have given up waiting, and must not lose the session that it has opened instead.
  if (session.hasEnded) return;
  table.enter(session);
  await ephemeral.begin(facts, sessionId);
  onDrained(await gpuHealth.record({ machineId: machine.id, sessionId }, gpus));
}

/** Writes that a session ended. Its machine's lease continues. */
export function leaveMachine(
  { machineId, id: sessionId }: LiveSession,
  { table, machines, logger }: LeaveOptions,
): void {
  table.own(
    machines
      .leave({ machineId, sessionId })
      .catch((error: unknown) => logger.debug({ err: error, machineId }, 'the end of a session was not written')),
  );
}

/**
 * Returns the current attempts that a hello does not list. `tookMs`: time since the hello came. An agent that has
 * waited too long for its welcome has sent another hello, perhaps to another replica, and got attempts there: a late
 * hello says nothing about attempts that began after it.
 */
export function missingFrom<Attempt extends MachineAttempt & { ageMs: number }>(
  held: readonly MachineAttempt[],
  current: readonly Attempt[],
  tookMs: number,
): Attempt[] {
  const heldIds = new Set(held.map((attempt) => attemptId(attempt)));
  const ageMsMin = tookMs < WELCOME_MS_MIN ? -Infinity : tookMs;
  return current.filter((attempt) => attempt.ageMs >= ageMsMin && !heldIds.has(attemptId(attempt)));
}

/** Returns the text for the operator, who reads it in the log of the rejected agent. */
function heldText(machineId: string, { name, since }: LeaseHolder): string {
  return (
    `Machine ${machineId} is held by the agent of ${JSON.stringify(name)}, which runs since ` +
    `${since.toISOString()}. Two agents have the same machine id: probably one runs on a copy of the other's data ` +
    'folder. Give this one an empty folder (SLIPWAY_AGENT_DATA_DIR, or --data-dir) and its own key (npx ' +
    'slipway keys create NAME --scope agent). If the other agent has ended, this one is accepted within 10 s.'
  );
}
