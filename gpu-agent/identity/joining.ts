/**
 * Joins by a token before the agent's first session, and renews the certificate while it runs. A machine that has
 * joined ignores the token that it joined with, so the same command line starts it for ever.
 */
import { X509Certificate } from 'node:crypto';
import type { Client, ServiceError } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Transport } from '@slipway/kit/net/channel';
import { callMetadata } from '@slipway/kit/net/channel';
import type { TlsFiles } from '@slipway/kit/net/tls';
import { explainConnection } from '@slipway/kit/net/tls';
import { TlsSource } from '@slipway/kit/net/tls-source';
import { backoffMs } from '@slipway/kit/time/backoff';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import { newPrivateKey, signingRequest } from '@slipway/kit/tls/authority';
import { readJoinToken } from '@slipway/kit/tls/join-token';
import type {
  JoinMachineResponse,
  ListAuthoritiesResponse,
  MachineCertificate,
  RenewCertificateResponse,
} from '@slipway/proto/gen/slipway/v1/join_service';
import { AuthorityRole, JoinServiceClient } from '@slipway/proto/gen/slipway/v1/join_service';
import type { IdentityFiles } from './identity-files.ts';

/** Period of the check whether the certificate is to be renewed, in milliseconds. */
const PERIOD_MS = 60_000;
/** Period of the question whether another authority signs, in milliseconds. */
const ASK_MS = 900_000;
const CALL_MS_MAX = 15_000;
const PAUSE = { firstMs: 500, maxMs: 10_000 };
/** A difference of clocks that is logged, in milliseconds. */
const SKEW_MS = 60_000;
/** Codes after which another try with the same token is pointless. */
const FINAL: ReadonlySet<status> = new Set([
  status.UNAUTHENTICATED,
  status.FAILED_PRECONDITION,
  status.INVALID_ARGUMENT,
  status.UNIMPLEMENTED,
]);

/** Core does not let the machine in; the text says what to do. */
export class JoinError extends Error {}

interface JoiningOptions {
  files: IdentityFiles;
  /** Text of the token. Empty: none. */
  token: string;
  addresses: readonly string[];
  /** Trust where the token names no authority. */
  trust: TlsFiles;
  name: string;
  transport: Transport;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class Joining extends LoopService {
  readonly #options: JoiningOptions;

  constructor(options: JoiningOptions) {
    super({ ...options, name: 'machine certificate', periodMs: PERIOD_MS });
    this.#options = options;
  }

  /**
   * Joins with the token, unless the machine has joined with it. With another token it moves to that one's pool. Waits
   * while core is away. Throws JoinError if core does not let the machine in.
   */
  async join(machineId: string, ending: AbortSignal): Promise<void> {
    const { files, token, logger } = this.#options;
    const text = readJoinToken(token);
    if (!text || (files.exists && files.facts.tokenId === text.id)) return;
    if (files.exists && (await this.#isWelcome(ending))) return await this.#move(text.id, machineId, ending);
    let answer = await this.#ask(machineId, ending);
    // The key pair of a machine that was removed is of no use any more.
    if (answer === 'another key pair') answer = await this.#ask(machineId, ending, { newKey: true });
    if (!answer || answer === 'another key pair') return;
    this.#store(answer, text.id);
    logger.info({ machineId, pool: answer.pool }, 'this machine has joined');
  }

  /**
   * Moves a machine that has joined to the pool and the locations of another token. It keeps its id and its key. If the
   * token is of no use, nothing changes. The machine knows its installation: the authority in the token may have been
   * exchanged since.
   */
  async #move(tokenId: string, machineId: string, ending: AbortSignal): Promise<void> {
    const { files, trust, logger } = this.#options;
    try {
      const answer = await this.#ask(machineId, ending, { tls: files.tls(trust, files.isSystem) });
      if (!answer || answer === 'another key pair') return;
      this.#store(answer, tokenId);
      logger.info({ machineId, pool: answer.pool }, 'this machine has moved to the pool of its new token');
    } catch (error) {
      if (!(error instanceof JoinError)) throw error;
      logger.warn({ cause: error.message }, 'the token is not used: this machine has joined already');
    }
  }

  #store({ certificate, authority, pool, locations }: JoinMachineResponse, tokenId: string): void {
    const { certificate: pem, tunnelKey } = certificate!;
    this.#options.files.store(pem, authority, { tokenId, pool, locations, tunnelKey });
    this.#compareClocks(certificate!);
  }

  /** Renews the certificate in its last third, and when another authority signs. Open connections continue. */
  protected override async pass(): Promise<void> {
    const { files, clock, logger } = this.#options;
    if (!files.exists) return;
    const { validFrom, validTo } = new X509Certificate(files.certificate);
    const [fromMs, toMs] = [Date.parse(validFrom), Date.parse(validTo)];
    try {
      if (toMs - clock.nowMs() > (toMs - fromMs) / 3 && !(await this.#isOutdated())) return;
      await this.#renew();
      logger.info('the certificate of this machine was renewed');
    } catch (error) {
      logger.warn({ cause: this.#reasonOf(error), ends: validTo }, 'the certificate of this machine was not renewed');
    }
  }

  /** Asks core now and then whether another authority signs by now. Follows the list of those to trust. */
  async #isOutdated(): Promise<boolean> {
    const { files, trust, clock } = this.#options;
    if (clock.monotonicMs() < this.#nextAskMs) return false;
    const { authorities } = await this.#call(files.tls(trust, files.isSystem), (client, deadline) =>
      unary<ListAuthoritiesResponse>((done) => client.listAuthorities({}, callMetadata(''), { deadline }, done)),
    ).catch((error: Partial<ServiceError>) => {
      // A core of an earlier release has one authority.
      if (error.code === status.UNIMPLEMENTED) return { authorities: [] };
      throw error;
    });
    this.#nextAskMs = clock.monotonicMs() + ASK_MS;
    const own = authorities.filter(({ role }) => role !== AuthorityRole.OPERATOR);
    const trusted = own.map(({ certificate }) => certificate).join('');
    const signer = own.find(({ signs }) => signs);
    const isOther =
      signer && !new X509Certificate(files.certificate).verify(new X509Certificate(signer.certificate).publicKey);
    if (trusted !== files.authorities) files.storeAuthorities(trusted);
    return isOther ?? false;
  }

  async #renew(): Promise<void> {
    const { files, trust } = this.#options;
    const { certificate, authority } = await this.#call(files.tls(trust, files.isSystem), (client, deadline) =>
      unary<RenewCertificateResponse>((done) => client.renewCertificate({}, callMetadata(''), { deadline }, done)),
    );
    files.storeAuthorities(authority);
    files.storeCertificate(certificate!.certificate);
    files.storeFacts({ ...files.facts, tunnelKey: certificate!.tunnelKey });
    this.#compareClocks(certificate!);
  }

  /** Returns whether core still knows the machine. A core that is away is waited for. */
  async #isWelcome(ending: AbortSignal): Promise<boolean> {
    return (
      (await this.#persist(async () => {
        try {
          await this.#renew();
          return true;
        } catch (error) {
          if ((error as ServiceError).code === status.UNAUTHENTICATED) return false;
          throw error;
        }
      }, ending)) ?? true
    );
  }

  /** Returns the trust that the token gives, without a certificate of this machine. */
  get #tokenTls(): TlsFiles {
    const { token, trust } = this.#options;
    const { authority } = readJoinToken(token)!;
    if (authority === undefined) return { ...trust, certFile: '', certKeyFile: '' };
    return { ...NO_FILES, caDigests: [authority] };
  }

  /** Asks core to let the machine in. `tls`: default: as the token says. */
  async #ask(
    machineId: string,
    ending: AbortSignal,
    { newKey = false, tls = this.#tokenTls }: { newKey?: boolean; tls?: TlsFiles } = {},
  ): Promise<JoinMachineResponse | 'another key pair' | undefined> {
    const { files, token, name } = this.#options;
    const key = files.key(newPrivateKey, newKey);
    const request = { token, machineId, name, signingRequest: signingRequest(key, machineId) };
    try {
      return await this.#persist(
        () =>
          this.#call(tls, (client, deadline) =>
            unary<JoinMachineResponse>((done) => client.joinMachine(request, callMetadata(''), { deadline }, done)),
          ),
        ending,
      );
    } catch (error) {
      const { details = (error as Error).message } = error as ServiceError;
      if (!newKey && /join with a new one/.test(details)) return 'another key pair';
      if ((error as Partial<ServiceError>).code === status.UNIMPLEMENTED) throw new JoinError(NO_JOINING);
      throw new JoinError(`Core does not let this machine in: ${details}`);
    }
  }

  /** Repeats a call until it succeeds, fails for good, or the agent ends (`undefined`). */
  async #persist<Result>(once: () => Promise<Result>, ending: AbortSignal): Promise<Result | undefined> {
    const { clock, random, logger } = this.#options;
    let logged = '';
    for (let failures = 1; !ending.aborted; failures += 1) {
      try {
        return await once();
      } catch (error) {
        if (FINAL.has((error as ServiceError).code)) throw error;
        const reason = this.#reasonOf(error);
        if (reason !== logged) logger.warn({ reason }, 'not joined, will try again');
        logged = reason;
      }
      await delay(clock, backoffMs(failures, PAUSE, random), ending);
    }
    return undefined;
  }

  #index = 0;
  #nextAskMs = 0;

  async #call<Result>(
    files: TlsFiles,
    call: (client: JoinServiceClient, deadline: number) => Promise<Result>,
  ): Promise<Result> {
    const { transport, addresses, clock } = this.#options;
    this.#index += 1;
    const address = addresses[this.#index % addresses.length]!;
    const client = transport.openClient(JoinServiceClient, address, { tls: new TlsSource(files) });
    try {
      return await call(client, clock.nowMs() + CALL_MS_MAX);
    } finally {
      (client as Client).close();
    }
  }

  #reasonOf(error: unknown): string {
    const { details = (error as Error).message } = error as Partial<ServiceError>;
    return explainConnection(details, this.#options.addresses[0]!) ?? details;
  }

  #compareClocks({ coreTime }: MachineCertificate): void {
    const { clock, logger } = this.#options;
    const aheadMs = clock.nowMs() - (coreTime?.getTime() ?? clock.nowMs());
    if (Math.abs(aheadMs) > SKEW_MS)
      logger.warn({ aheadSeconds: Math.round(aheadMs / 1_000) }, "this machine's clock differs from core's: run NTP");
  }
}

const NO_JOINING =
  'No machine is let in by a token at this address. If it is an edge, use the address of its --join-listen; an edge ' +
  'of an earlier release lets machines with a key through only.';
const NO_FILES: TlsFiles = { caFile: '', certFile: '', certKeyFile: '' };

function unary<Response>(
  call: (done: (error: ServiceError | null, response: Response) => void) => unknown,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    call((error, response) => (error ? reject(error) : resolve(response)));
  });
}
