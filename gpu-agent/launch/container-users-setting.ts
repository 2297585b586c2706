/** SLIPWAY_CONTAINER_USERS: which users of this host the users of containers are. Pure. */

import type { EnvReader } from '@slipway/kit/host/env';
import { ACCOUNT_UID_BASE } from '@slipway/kit/host/host-user';
import { CONTAINER_USERS } from '../executors/container/container-users.ts';
import type { WorkerUserSetting } from '../users/worker-user-setting.ts';
import { ACCOUNTS_MAX, UID_MAX } from '../users/worker-user-setting.ts';

/** Host user of root in containers by default, above the users of accounts. */
const BASE_DEFAULT = ACCOUNT_UID_BASE + 100_000_000;

/**
 * Reads `host` (0), `mapped`, or `mapped:BASE`. Returns the host user that root of containers is. `workerUser`: its
 * users must not be among those of containers.
 */
export function readContainerUsers(reader: EnvReader, workerUser: WorkerUserSetting): number {
  const text = reader.text('SLIPWAY_CONTAINER_USERS', 'host');
  const base = parse(text);
  if (base === undefined) {
    reader.fault(
      `SLIPWAY_CONTAINER_USERS is ${JSON.stringify(text)}, but must be host, mapped, or mapped:BASE with BASE from ` +
        `${CONTAINER_USERS} on`,
    );
    return 0;
  }
  if (base === 0 || workerUser.kind !== 'per-account') return base;
  const { base: first } = workerUser;
  if (base <= first + ACCOUNTS_MAX && base + CONTAINER_USERS > first)
    reader.fault(
      `SLIPWAY_CONTAINER_USERS has users of accounts, which are those from ${first} on: choose another BASE`,
    );
  return base;
}

function parse(text: string): number | undefined {
  if (text === 'host') return 0;
  if (text === 'mapped') return BASE_DEFAULT;
  const base = Number(/^mapped:(\d{1,10})$/.exec(text)?.[1]);
  return base >= CONTAINER_USERS && base + CONTAINER_USERS - 1 <= UID_MAX ? base : undefined;
}
