/** The terms under which a machine may run attempts. Every number of the heartbeat is here, with its relations. */

/** How often an agent sends a heartbeat, in milliseconds. */
export const HEARTBEAT_PERIOD_MS = 2_000;
/**
 * How long a machine's attempts are its own after its last heartbeat was written, in milliseconds, by the database
 * clock.
 */
export const LEASE_MS = 10_000;
/** Heartbeats that may go missing in a row before a lease ends. */
const HEARTBEATS_MISSED_MAX = 3;
/** A session that sent nothing for this many milliseconds is closed: its connection is dead though nobody noticed. */
export const SILENCE_MS_MAX = LEASE_MS;

/**
 * Nothing was heard of a session for this many milliseconds: its agent's successor need not wait for the end of the
 * lease.
 */
export const SUCCESSION_MS = 2 * HEARTBEAT_PERIOD_MS;

if (HEARTBEAT_PERIOD_MS * (HEARTBEATS_MISSED_MAX + 1) >= LEASE_MS) {
  throw new Error('a lease must outlive the heartbeats that may go missing');
}
