/** SLIPWAY_WORKER_USER: as whom workers and pods run. Pure. */
import { ACCOUNT_UID_BASE } from '@slipway/kit/host/host-user';

export type WorkerUserSetting =
  /** As the agent itself. */
  | { kind: 'same' }
  /** One user for all accounts: a name, or numbers. */
  | { kind: 'named'; name: string }
  | { kind: 'numbered'; uid: number; gid: number }
  /** One user for each account: `base` and the account's number. */
  | { kind: 'per-account'; base: number };

/** Highest number of a user. The last one means "none" to the kernel. */
const UID_MAX = 2 ** 32 - 2;
/** So many accounts must find room above the base. */
const ACCOUNTS_ROOM = 1_000_000;

/**
 * Reads `same`, `per-account`, `per-account:BASE`, `NAME`, `UID` or `UID:GID`; undefined: it is none of these, or root.
 */
export function parseWorkerUser(text: string): WorkerUserSetting | undefined {
  if (text === 'same') return { kind: 'same' };
  if (text === 'per-account') return { kind: 'per-account', base: ACCOUNT_UID_BASE };
  const [, base] = /^per-account:(\d+)$/.exec(text) ?? [];
  if (base !== undefined)
    return isUid(Number(base) + ACCOUNTS_ROOM) && isUid(Number(base))
      ? { kind: 'per-account', base: Number(base) }
      : undefined;
  const [, uid, gid = uid] = /^(\d+)(?::(\d+))?$/.exec(text) ?? [];
  if (uid !== undefined)
    return isUid(Number(uid)) && isUid(Number(gid))
      ? { kind: 'numbered', uid: Number(uid), gid: Number(gid) }
      : undefined;
  return /^[a-z_][a-z0-9_-]*$/i.test(text) && text !== 'root' ? { kind: 'named', name: text } : undefined;
}

function isUid(value: number): boolean {
  return Number.isSafeInteger(value) && value > 0 && value <= UID_MAX;
}
