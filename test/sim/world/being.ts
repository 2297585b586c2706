/** Parts of the world that live and die. */

/** A part of the world that has a life: a replica, a machine, a client. What is dead never runs again. */
export interface Being {
  readonly name: string;
  dead: boolean;
  /** It hangs until this virtual time, in milliseconds. */
  hangsUntilMs?: number;
  /** Its wall clock differs from the true one by so many milliseconds. */
  clockErrorMs?: number;
}

/** The being of what belongs to nobody. */
export const NATURE: Being = { name: 'nature', dead: false };
