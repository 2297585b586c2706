/** SLIPWAY_WORKER_USER: the user that runs workers and pods. Pure. */

import type { EnvReader } from '@slipway/kit/host/env';
import { ACCOUNT_UID_BASE } from '@slipway/kit/host/host-user';

export type WorkerUserSetting =
  /** The agent's own user. */
  | { kind: 'same' }
  /** One user for all accounts: a name, or numbers. */
  | { kind: 'named'; name: string }
  | { kind: 'numbered'; uid: number; gid: number }
  /** One user for each account: `base` plus the account's number. */
  | { kind: 'per-account'; base: number };

/** Highest user number. The one above it means "none" to the kernel. */
export const UID_MAX = 2 ** 32 - 2;
/** Number of accounts for which there must be user numbers above the base. */
export const ACCOUNTS_MAX = 1_000_000;

/**
 * Reads `same`, `per-account`, `per-account:BASE`, `NAME`, `UID` or `UID:GID`; `undefined` if it is none of these, or
 * root.
 */
export function parseWorkerUser(text: string): WorkerUserSetting | undefined {
  if (text === 'same') return { kind: 'same' };
  if (text === 'per-account') return { kind: 'per-account', base: ACCOUNT_UID_BASE };
  const [, base] = /^per-account:(\d+)$/.exec(text) ?? [];
  if (base !== undefined)
    return isUid(Number(base) + ACCOUNTS_MAX) && isUid(Number(base))
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

/** Reads the setting. `asRoot`: the agent runs as root and must be told. */
export function readWorkerUser(reader: EnvReader, asRoot: boolean): WorkerUserSetting {
  const text = reader.text('SLIPWAY_WORKER_USER', asRoot ? '' : 'same');
  const setting = parseWorkerUser(text);
  if (text === '') {
    reader.fault(
      'SLIPWAY_WORKER_USER is not set, and this agent runs as root. Choose the user of its workers: per-account ' +
        '(each account gets its own user), a NAME or UID for all, or same (root: every worker can read ' +
        'all secrets of this machine)',
    );
  } else if (!setting) {
    reader.fault(
      `SLIPWAY_WORKER_USER is ${JSON.stringify(text)}, but must be per-account, per-account:BASE, NAME, UID, ` +
        'UID:GID or same, and not root',
    );
  }
  return setting ?? { kind: 'same' };
}
