/**
 * Decides whether a key may make a call. Results come from two bounded caches that are at most 5 s old, so a revoked
 * key or a deleted endpoint stops working on every replica within that time, and at once where the notice arrives. A
 * hit is synchronous: the hot path of submissions never waits here.
 */
import { timingSafeEqual } from 'node:crypto';
import { Batcher } from '@slipway/kit/bytes/batcher';
import type { Clock } from '@slipway/kit/time/clock';
import type { AccessRequest, Caller } from '../domain/accounts/permission.ts';
import { endpointNotFound, permit, ROOT_CALLER, unauthorized } from '../domain/accounts/permission.ts';
import { DomainError } from '../domain/settings/errors.ts';
import type { CoreEvents } from '../events/core-events.ts';
import type { OwnedEndpoint } from '../store/resources/endpoint-store.ts';
import type { Stores } from '../store/storage.ts';
import { hashKey, KEY_LENGTH_MAX } from './key-text.ts';
import type { Cached } from './lookup-cache.ts';
import { LookupCache } from './lookup-cache.ts';

/** Validity of a database result in milliseconds (access_service.proto: 5 s). */
const GRANT_VALID_MS = 5_000;
const KEYS_CACHED_MAX = 20_000;
const ENDPOINTS_CACHED_MAX = 20_000;
const LOOKUPS_MAX = 500;
const LOOKUPS_WAITING_MAX = 20_000;

/** A call that is permitted. */
export interface Grant {
  caller: Caller;
  /** The key that was used. */
  keyId: string;
  /** Owner of the called resource: the endpoint's account for the operator's key, else the key's own account. */
  accountId: string;
  /** The endpoint that was named. */
  endpoint: OwnedEndpoint | undefined;
  /** Time at which the grant expires, in monotonic milliseconds. */
  validUntilMs: number;
}

/** A permitted call that names an endpoint. */
type EndpointGrant = Grant & { endpoint: OwnedEndpoint };

interface AccessOptions extends Pick<Stores, 'keys' | 'endpoints'> {
  events: CoreEvents;
  /** The operator's keys: the one in use, and the previous one while they are exchanged. Empty ones are none. */
  rootKeys: readonly string[];
  clock: Clock;
}

export class Access {
  /** Bytes of the hashes of the operator's keys. */
  readonly #rootHashes: readonly Buffer[];
  readonly #clock: Clock;
  readonly #callers: LookupCache<Caller>;
  readonly #endpoints: LookupCache<OwnedEndpoint>;

  constructor({ keys, endpoints, events, rootKeys, clock }: AccessOptions) {
    this.#rootHashes = rootKeys.filter((key) => key !== '').map((key) => Buffer.from(hashKey(key)));
    this.#clock = clock;
    const keyLookups = lookups<Caller>('key lookups', clock, async (hashes) =>
      keys.callers(hashes.map((hash) => Buffer.from(hash, 'hex'))),
    );
    const endpointLookups = lookups<OwnedEndpoint>('endpoint lookups', clock, async (ids) => {
      const found = await endpoints.owned(ids);
      return new Map(found.map((endpoint) => [endpoint.id, endpoint]));
    });
    const validMs = GRANT_VALID_MS;
    this.#callers = new LookupCache({ load: (hash) => keyLookups.add(hash), validMs, sizeMax: KEYS_CACHED_MAX, clock });
    this.#endpoints = new LookupCache({
      load: (id) => endpointLookups.add(id),
      validMs,
      sizeMax: ENDPOINTS_CACHED_MAX,
      clock,
    });
    events.on('endpoints', (ids) => {
      for (const id of ids) this.#endpoints.forget(id);
    });
    events.on('keys', (ids) => {
      const changed = new Set(ids);
      this.#callers.forgetWhere((caller) => changed.has(caller.keyId));
    });
  }

  /**
   * Checks a key against a request. Returns the grant if the cache has it, else a promise of it. Throws or rejects
   * with UNAUTHORIZED if the key does not exist or lacks the permission, ENDPOINT_NOT_FOUND if the endpoint is not in
   * the key's account.
   */
  check(apiKey: string, request: AccessRequest & { endpointId: string }): EndpointGrant | Promise<EndpointGrant>;
  check(apiKey: string, request: AccessRequest): Grant | Promise<Grant>;
  check(apiKey: string, request: AccessRequest): Grant | Promise<Grant> {
    if (apiKey === '' || apiKey.length > KEY_LENGTH_MAX) throw unauthorized();
    const hash = hashKey(apiKey);
    // The operator's key is never among the callers.
    const caller = this.#callers.peek(hash) ?? this.#root(hash);
    const endpoint = request.endpointId === undefined ? undefined : this.#endpoints.peek(request.endpointId);
    const known = caller !== undefined && (request.endpointId === undefined || endpoint !== undefined);
    return known ? decide(request, caller, endpoint) : this.#load(hash, request);
  }

  /** Returns the holder of a key, regardless of its permissions. Rejects with UNAUTHORIZED if there is no such key. */
  async caller(apiKey: string): Promise<Caller> {
    if (apiKey === '' || apiKey.length > KEY_LENGTH_MAX) throw unauthorized();
    const hash = hashKey(apiKey);
    const known = this.#root(hash) ?? (await this.#callers.get(hash));
    if (!known.value) throw unauthorized();
    return known.value;
  }

  /**
   * Returns the machine with a public key, by its hash. Rejects with UNAUTHORIZED if no machine has joined with it, or
   * the machine was removed.
   */
  async certified(keyHash: string): Promise<Caller> {
    const { value } = await this.#callers.get(keyHash);
    if (value) return value;
    throw new DomainError(
      'UNAUTHORIZED',
      'The certificate of this machine was revoked: the machine was removed. It joins again with a new token: ' +
        'slipway machines token',
    );
  }

  #root(hash: string): Cached<Caller> | undefined {
    const given = Buffer.from(hash);
    if (!this.#rootHashes.some((known) => timingSafeEqual(given, known))) return undefined;
    return { value: ROOT_CALLER, validUntilMs: this.#clock.monotonicMs() + GRANT_VALID_MS };
  }

  async #load(hash: string, request: AccessRequest): Promise<Grant> {
    const caller = this.#root(hash) ?? (await this.#callers.get(hash));
    // A request with an unknown key must learn nothing, and cost nothing beyond the lookup of the key.
    if (!caller.value) throw unauthorized();
    // PostgreSQL rejects an id with a NUL, and with it the other lookups of the batch.
    const isLookedUp = request.endpointId !== undefined && !request.endpointId.includes('\0');
    const endpoint = isLookedUp ? await this.#endpoints.get(request.endpointId!) : undefined;
    return decide(request, caller, endpoint);
  }
}

function decide(request: AccessRequest, caller: Cached<Caller>, endpoint: Cached<OwnedEndpoint> | undefined): Grant {
  if (!caller.value) throw unauthorized();
  permit(caller.value, request);
  const root = caller.value.scope === 'ROOT';
  if (
    request.endpointId !== undefined &&
    (!endpoint?.value || !(root || endpoint.value.accountId === caller.value.accountId))
  ) {
    throw endpointNotFound(request.endpointId);
  }
  return {
    caller: caller.value,
    keyId: caller.value.keyId,
    accountId: root ? (endpoint?.value?.accountId ?? '') : caller.value.accountId,
    endpoint: endpoint?.value,
    validUntilMs: Math.min(caller.validUntilMs, endpoint?.validUntilMs ?? Infinity),
  };
}

function lookups<Value>(
  name: string,
  clock: Clock,
  load: (keys: string[]) => Promise<Map<string, Value>>,
): Batcher<string, Value | undefined> {
  return new Batcher({
    name,
    clock,
    itemsMax: LOOKUPS_MAX,
    waitingMax: LOOKUPS_WAITING_MAX,
    flushesMax: 2,
    async flush(keys) {
      const found = await load(keys);
      return keys.map((key) => found.get(key));
    },
  });
}
