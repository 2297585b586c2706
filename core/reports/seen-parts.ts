/** Keeps the versions of the parts that call this replica, and logs each version that this core does not serve. */

import { boundedCache } from '@slipway/kit/bytes/bounded-cache';
import type { PartVersion } from '@slipway/kit/host/part-version';
import { partSupport } from '@slipway/kit/host/part-version';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';

/** A part without an open call is listed for this long after its last one, in milliseconds. */
const LISTED_MS = 600_000;
/** Most versions that are kept. Callers name their version before their key is checked, so it must be bounded. */
const VERSIONS_MAX = 100;

/** A version of a part that calls this replica. */
export interface SeenPart extends PartVersion {
  lastSeenAtMs: number;
}

interface Entry extends PartVersion {
  openCalls: number;
  lastSeenAtMs: number;
}

interface SeenPartsOptions {
  coreVersion: string;
  clock: Clock;
  logger: Logger;
}

export class SeenParts {
  readonly #options: SeenPartsOptions;
  readonly #entries = boundedCache<string, Entry>(VERSIONS_MAX);

  constructor(options: SeenPartsOptions) {
    this.#options = options;
  }

  /** Records the begin of a call. Call the result once when the call has ended. */
  onCall(part: PartVersion): () => void {
    const { clock } = this.#options;
    const key = `${part.name}/${part.version}`;
    let entry = this.#entries.get(key);
    if (!entry) {
      entry = { ...part, openCalls: 0, lastSeenAtMs: 0 };
      this.#entries.set(key, entry);
      this.#logUnserved(part);
    }
    const known = entry;
    known.openCalls++;
    known.lastSeenAtMs = clock.nowMs();
    return () => {
      known.openCalls--;
      known.lastSeenAtMs = clock.nowMs();
    };
  }

  /** Returns the versions that have an open call, or had one within the last ten minutes. */
  list(): SeenPart[] {
    const nowMs = this.#options.clock.nowMs();
    return [...this.#entries.values()]
      .map(({ openCalls, lastSeenAtMs, ...part }) => ({ ...part, lastSeenAtMs: openCalls > 0 ? nowMs : lastSeenAtMs }))
      .filter(({ lastSeenAtMs }) => lastSeenAtMs > nowMs - LISTED_MS);
  }

  #logUnserved({ name, version }: PartVersion): void {
    const { coreVersion, logger } = this.#options;
    const support = partSupport(coreVersion, version);
    if (support === 'SERVED') return;
    const what =
      support === 'TOO_OLD' ? 'a part is too old for this core: update it' : 'this core is too old: update it';
    logger.warn({ part: name, version, coreVersion }, what);
  }
}
