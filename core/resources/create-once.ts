/** Creations that are safe to repeat with an Idempotency-Key. */
import type { CreationKey } from '../domain/resources/creation-key.ts';
import { createdIsGone, RepeatedCreation } from '../domain/resources/creation-key.ts';
import { DomainError } from '../domain/settings/errors.ts';
import type { Stores } from '../store/storage.ts';

/** A creation. */
interface CreationRequest<Made> {
  accountId: string;
  /** Name of the RPC that creates. */
  action: string;
  /** The caller's key. Empty: none. */
  requestId: string;
  /** Everything else that was sent. */
  body: Uint8Array;
  /** Creates the resource, and stores `key` in the same transaction. */
  create(key: CreationKey | undefined): Promise<Made>;
  /** Reads the resource that an earlier call created. */
  read(id: string): Promise<Made>;
}

const GONE = new Set(['NOT_FOUND', 'ENDPOINT_NOT_FOUND', 'TEMPLATE_NOT_FOUND']);

/**
 * Creates a resource, or returns the one that an earlier call with the same key and body created, as it is now. Throws
 * IDEMPOTENCY_KEY_REUSED if the key came with another body, or what it created has been deleted.
 */
export async function createOnce<Made>(
  { creations }: Pick<Stores, 'creations'>,
  request: CreationRequest<Made>,
): Promise<Made> {
  const { accountId, action, requestId, body, create, read } = request;
  if (requestId === '') return create(undefined);
  const key = creations.keyOf(accountId, action, requestId, body);
  // Found before anything is checked: what was named then may be gone, and the name is taken by the first creation.
  const earlier = (await creations.find(key)) ?? (await tryCreation(() => create(key)));
  if (typeof earlier !== 'string') return earlier.made;
  return read(earlier).catch((error: unknown) => {
    throw error instanceof DomainError && GONE.has(error.reason) ? createdIsGone(earlier) : error;
  });
}

/** Returns what was created, or the id of what another call created at the same time. */
async function tryCreation<Made>(create: () => Promise<Made>): Promise<{ made: Made } | string> {
  try {
    return { made: await create() };
  } catch (error) {
    if (error instanceof RepeatedCreation) return error.subjectId;
    throw error;
  }
}
