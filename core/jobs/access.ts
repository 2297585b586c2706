/** What the job use cases need of access control: may this key do this on this endpoint? Implemented by core/access. */
import type { Api, Caller } from '../domain/access.ts';

/** A permission that was given. */
export interface Grant {
  /** Owner of the endpoint. */
  accountId: string;
  /** The key that was used. */
  keyId: string;
  /** Who holds it. */
  caller: Caller;
}

/** Who may do what. */
export interface Access {
  /**
   * Answers at once when it remembers the key, so that the hot path has no extra turn. UNAUTHORIZED: no such key, or it lacks the
   * permission. ENDPOINT_NOT_FOUND: the endpoint is not in the key's account.
   */
  check(apiKey: string, wanted: { api: Api; endpointId: string; write: boolean }): Grant | Promise<Grant>;
}
