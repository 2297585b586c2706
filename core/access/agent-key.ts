/** Authorizes agents for their machine, by an agent key or by the certificate of their connection. */

import type { Caller } from '../domain/accounts/permission.ts';
import { unauthorized } from '../domain/accounts/permission.ts';
import { DomainError } from '../domain/settings/errors.ts';
import type { Access } from './access.ts';
import type { MachineCertificate } from './machine-certificate.ts';
import { requireCurrent } from './machine-certificate.ts';

/** Credentials of an agent. A key takes precedence over a certificate. */
export interface AgentCredential {
  /** Empty: there is none. */
  apiKey: string;
  certificate: MachineCertificate | undefined;
}

/**
 * Returns the holder of an agent's credential. Throws UNAUTHORIZED for any other kind of key, also for the operator's.
 * Whether a certificate has ended is not asked: a session that was opened with it continues.
 */
export async function agentOf(access: Access, { apiKey, certificate }: AgentCredential): Promise<Caller> {
  const caller =
    apiKey === '' && certificate ? await access.certified(certificate.keyHash) : await access.caller(apiKey);
  if (caller.scope !== 'AGENT') throw unauthorized();
  return caller;
}

/**
 * Returns the holder of a certificate. Throws UNAUTHORIZED: there is none, it has ended, or its machine was removed.
 */
export async function agentOfCertificate(
  access: Access,
  certificate: MachineCertificate | undefined,
  nowMs: number,
): Promise<Caller> {
  if (!certificate) {
    throw new DomainError(
      'UNAUTHORIZED',
      `This connection shows no certificate that this installation made and that is valid; core's clock says ` +
        `${new Date(nowMs).toISOString()}.`,
    );
  }
  requireCurrent(certificate, nowMs);
  return agentOf(access, { apiKey: '', certificate });
}

/** Returns the machine that a credential belongs to. It may act for the attempts of that machine only. */
export async function machineOf(access: Access, credential: AgentCredential): Promise<string> {
  const { machineId } = await agentOf(access, credential);
  if (machineId === undefined)
    throw new DomainError('UNAUTHORIZED', 'No machine has joined with this key yet: open a Session first.');
  return machineId;
}
