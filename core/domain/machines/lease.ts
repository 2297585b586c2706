/**
 * Terms of the lease under which a machine may run attempts. All constants of the heartbeat are here, with their
 * relations.
 */

/** Period of an agent's heartbeats, in milliseconds. */
export const HEARTBEAT_PERIOD_MS = 2_000;
/**
 * Time for which a machine holds its attempts after its last heartbeat was written, in milliseconds, by the database
 * clock.
 */
export const LEASE_MS = 10_000;
/** Most consecutive heartbeats that may be lost before a lease ends. */
const HEARTBEATS_MISSED_MAX = 3;
/** Silence after which a session is closed, in milliseconds: its connection is dead. */
export const SILENCE_MS_MAX = LEASE_MS;

/** Silence of a session after which its agent's successor need not wait for the end of the lease, in milliseconds. */
export const SUCCESSION_MS = 2 * HEARTBEAT_PERIOD_MS;

/** Agents wait at least so many milliseconds for the answer to a hello, unless their connection breaks before. */
export const WELCOME_MS_MIN = 5_000;

if (HEARTBEAT_PERIOD_MS * (HEARTBEATS_MISSED_MAX + 1) >= LEASE_MS) {
  throw new Error('a lease must outlive the heartbeats that may go missing');
}
