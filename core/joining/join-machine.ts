/** Lets machines in by a token, and renews their certificates. */
import type { KeyObject } from 'node:crypto';
import type { Sealer } from '@slipway/kit/host/seal';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { readJoinToken } from '@slipway/kit/tls/join-token';
import { readSigningRequest } from '@slipway/kit/tls/signing-request';
import type { Access } from '../access/access.ts';
import { agentOfCertificate } from '../access/agent-key.ts';
import type { MachineCertificate } from '../access/machine-certificate.ts';
import { hashPublicKey } from '../access/machine-certificate.ts';
import { joinRejected } from '../domain/machines/join-token.ts';
import { DomainError } from '../domain/settings/errors.ts';
import { checkName, invalid } from '../domain/settings/fields.ts';
import type { Stores } from '../store/storage.ts';
import type { CoreCertificates } from './core-certificates.ts';
import { hashToken } from './join-tokens.ts';
import { tunnelKeyOf } from './tunnel-key.ts';

const KEY_ID_LENGTH = 20;
/** Lifetime of a machine's certificate. Its agent renews it in the last third. */
const MACHINE_DAYS = 90;
/** Tries to sign while the authority is exchanged. */
const SIGN_TRIES_MAX = 3;
/** Maximum concurrent joins per replica, because joining needs no authentication. */
const JOINS_MAX = 16;

/** Dependencies of joining. */
interface JoinContext extends Pick<Stores, 'joinTokens' | 'authorities'> {
  access: Access;
  certificates: CoreCertificates;
  sealer: Pick<Sealer, 'hash'>;
  clock: Clock;
  random: Random;
}

/** A machine that wants to join, as its agent says. */
interface JoinRequest {
  token: string;
  signingRequest: Uint8Array;
  machineId: string;
  name: string;
}

/** A certificate with the other data that its machine needs. */
interface MadeCertificate {
  certificate: string;
  coreTime: Date;
  tunnelKey: string;
}

export class Joining {
  readonly #context: JoinContext;
  #running = 0;

  constructor(context: JoinContext) {
    this.#context = context;
  }

  /**
   * Lets a machine in. Idempotent for the same token, machine and key pair. Throws UNAUTHORIZED: the token admits no
   * machine. INVALID_REQUEST: the request is malformed. IN_USE: the machine or the key pair is taken. RATE_LIMITED: too
   * many machines join at this moment.
   */
  async join(request: JoinRequest) {
    if (this.#running >= JOINS_MAX)
      throw new DomainError('RATE_LIMITED', 'Too many machines join at this moment; try again shortly.');
    this.#running += 1;
    try {
      return await this.#join(request);
    } finally {
      this.#running -= 1;
    }
  }

  async #join({ token, signingRequest, machineId, name }: JoinRequest) {
    const { certificates, joinTokens, random } = this.#context;
    const text = readJoinToken(token);
    if (!text) throw new DomainError('UNAUTHORIZED', 'This is not the text of a token; copy it again.');
    if (!/^[a-z0-9]{12}$/.test(machineId)) throw invalid('machine_id must be 12 lowercase letters and digits');
    checkName('name', name);
    const publicKey = readSigningRequest(signingRequest);
    if (!publicKey) throw invalid('signing_request must be PKCS #10 in DER, of a key on P-256 and signed by it');
    const joined = await joinTokens.join({
      tokenHash: hashToken(text.id, text.secret),
      keyHash: Buffer.from(hashPublicKey(publicKey), 'hex'),
      keyId: random.id(KEY_ID_LENGTH),
      machineId,
      name,
    });
    if (typeof joined === 'string') throw joinRejected(joined, machineId);
    const certificate = await this.#issue(publicKey, machineId);
    // Read afterwards: signing may have found another authority, and the machine must trust that one.
    const authority = certificates.digest === undefined ? '' : certificates.trusted;
    return { certificate, authority, ...joined };
  }

  /**
   * Returns a new certificate for the public key of the caller's. Throws UNAUTHORIZED: it showed none, it has ended, or
   * the machine was removed.
   */
  async renew(
    certificate: MachineCertificate | undefined,
  ): Promise<{ certificate: MadeCertificate; authority: string }> {
    const { access, certificates, clock } = this.#context;
    const { machineId } = await agentOfCertificate(access, certificate, clock.nowMs());
    const made = await this.#issue(certificate!.publicKey, machineId!);
    return { certificate: made, authority: certificates.digest === undefined ? '' : certificates.trusted };
  }

  async #issue(publicKey: KeyObject, machineId: string): Promise<MadeCertificate> {
    const { authorities, certificates, sealer } = this.#context;
    const life = certificates.life(MACHINE_DAYS);
    const keyHash = Buffer.from(hashPublicKey(publicKey), 'hex');
    let signer = this.#signer();
    // Another replica may have exchanged the authority since this one has read it.
    for (let tries = 1; !(await authorities.recordSigner(keyHash, signer)); tries += 1) {
      if (tries === SIGN_TRIES_MAX)
        throw new DomainError('UNAVAILABLE', 'The authority is being exchanged; try again.');
      await certificates.refresh();
      signer = this.#signer();
    }
    return {
      certificate: signer.issueMachine(publicKey, machineId, life),
      coreTime: new Date(life.nowMs),
      tunnelKey: tunnelKeyOf(sealer, hashPublicKey(publicKey)),
    };
  }

  #signer() {
    const { signer } = this.#context.certificates;
    if (!signer) throw new DomainError('UNAVAILABLE', 'This core speaks no TLS, so no machine can join here.');
    return signer;
  }
}
