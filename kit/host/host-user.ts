/** Users of this host by number: a process that runs as root can start other processes as them. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A user. It needs no entry in /etc/passwd. */
export interface HostUser {
  uid: number;
  gid: number;
}

/**
 * User ids of accounts are this number plus the account's number. It is outside the ranges that distributions use for
 * people, services, containers and user namespaces (systemd's "Users, Groups, UIDs and GIDs"), and below 2^31, which
 * some programs use as the limit.
 */
export const ACCOUNT_UID_BASE = 2_000_000_000;

/** Nothing is inherited: other processes of that user could read it. */
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Returns whether this process may start others as any user. */
export function runsAsRoot(): boolean {
  return process.getuid?.() === 0;
}

/**
 * Runs a short script of /bin/sh as a user, with arguments from `$1`. Returns `undefined` on success, else
 * the error text.
 */
export async function tryAs(user: HostUser, script: string, ...args: string[]): Promise<string | undefined> {
  try {
    await run('/bin/sh', ['-c', script, 'sh', ...args], { uid: user.uid, gid: user.gid, cwd: '/', env: { PATH } });
    return undefined;
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string };
    return stderr.trim() || message;
  }
}
