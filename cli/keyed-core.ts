/** Calls core with one key. Calls are cancelled when the command is to end, and every error says what to do. */

import type { Client, ServiceError } from '@grpc/grpc-js';
import { status as Code } from '@grpc/grpc-js';
import { CoreServices } from '@slipway/facades/core-client/core-services';
import type { ServiceCalls, UnaryMethod } from '@slipway/facades/core-client/service-calls';
import type { Transport } from '@slipway/kit/net/channel';
import type { TlsFiles } from '@slipway/kit/net/tls';
import { explainConnection } from '@slipway/kit/net/tls';
import { TlsSource } from '@slipway/kit/net/tls-source';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { CoreError } from '@slipway/proto/wire/reason';
import { interruptionOf, RejectedError, UnreachableError } from './failures.ts';

/** Timeout of a call that does not wait, in milliseconds. */
const CALL_MS_MAX = 15_000;

/**
 * Calls one service: `call((client) => client.getJob, request)`. Throws CoreError, RejectedError, UnreachableError or
 * InterruptedError.
 */
interface KeyedCalls<Service extends Client> {
  /** Calls the service. `waitMs`: longest wait there, in milliseconds; default 0. `signal` also cancels the call. */
  call<Request, Response>(
    method: (client: Service) => UnaryMethod<Request, Response>,
    request: Request,
    options?: { waitMs?: number; signal?: AbortSignal },
  ): Promise<Response>;
}

/** Dependencies of the calls. */
interface KeyedCoreOptions {
  /** host:port or grpcs://host:port. */
  address: string;
  tls: TlsFiles;
  apiKey: string;
  /** Source of the key, for people. */
  keySource: string;
  transport: Transport;
  clock: Clock;
  random: Random;
  /** Aborts, with the signal's name as its reason, when the command is to end. */
  stopping: AbortSignal;
  /** Called before each call that changes something. */
  onChange?(): void;
}

/** Names of methods that only read. */
const READS = /\/(Get|List|Search|Check|Explain|Read|WhatIf|Wait|Fetch)\w*$/;

export class KeyedCore {
  readonly #options: KeyedCoreOptions;
  readonly #core: CoreServices;
  readonly access = this.#keyed((core) => core.access);
  readonly keys = this.#keyed((core) => core.keys);
  readonly endpoints = this.#keyed((core) => core.endpoints);
  readonly templates = this.#keyed((core) => core.templates);
  readonly jobs = this.#keyed((core) => core.jobs);
  readonly files = this.#keyed((core) => core.files);
  readonly batches = this.#keyed((core) => core.batches);
  readonly alerts = this.#keyed((core) => core.alerts);
  readonly joins = this.#keyed((core) => core.joins);
  readonly machines = this.#keyed((core) => core.machines);
  readonly catalog = this.#keyed((core) => core.catalog);
  readonly volumes = this.#keyed((core) => core.volumes);
  readonly registryAuths = this.#keyed((core) => core.registryAuths);
  readonly secrets = this.#keyed((core) => core.secrets);
  readonly pods = this.#keyed((core) => core.pods);
  readonly usage = this.#keyed((core) => core.usage);
  readonly audit = this.#keyed((core) => core.audit);
  readonly parts = this.#keyed((core) => core.parts);

  constructor(options: KeyedCoreOptions) {
    this.#options = options;
    this.#core = new CoreServices({ addresses: [options.address], ...options, tls: new TlsSource(options.tls) });
  }

  /** Closes the channels. Calls in flight end. */
  close(): void {
    this.#core.close();
  }

  #keyed<Kind extends Client>(serviceOf: (core: CoreServices) => ServiceCalls<Kind>): KeyedCalls<Kind> {
    return {
      call: async (method, request, { waitMs = 0, signal: given } = {}) => {
        const { apiKey, stopping, onChange } = this.#options;
        const signal = given ? AbortSignal.any([given, stopping]) : stopping;
        if (signal.aborted) throw interruptionOf(signal);
        const watched: typeof method = (client) => {
          const called = method(client) as ReturnType<typeof method> & { path?: string };
          if (!READS.test(called.path ?? '')) onChange?.();
          return called;
        };
        try {
          // A person waits: one try, and no wait for an unavailable core.
          return await serviceOf(this.#core).call(watched, request, {
            apiKey,
            repeatable: false,
            failFast: true,
            tryMs: CALL_MS_MAX + waitMs,
            signal,
          });
        } catch (error) {
          throw signal.aborted ? interruptionOf(signal) : this.#explain(error as CoreError);
        }
      },
    };
  }

  #explain(failed: CoreError): Error {
    const { address, keySource } = this.#options;
    const { code, details } = failed.cause as ServiceError;
    if (code === Code.UNIMPLEMENTED)
      return new RejectedError(`The core at ${address} is of another version and does not serve this.`);
    if (failed.reason === 'UNAUTHORIZED') {
      return new CoreError('UNAUTHORIZED', `${failed.message} The key that was used is the one ${keySource}.`, {
        cause: failed.cause,
      });
    }
    // If core itself sent the error, the message equals the details of the status. Errors of a broken connection
    // differ.
    if (failed.reason !== 'UNAVAILABLE' || failed.message === details) return failed;
    const how =
      code === Code.DEADLINE_EXCEEDED
        ? 'it did not answer in time'
        : (explainConnection(details, address) ?? 'no connection');
    return new UnreachableError(
      `Core cannot be reached at ${address} (${how}). Start it, for instance with "npm start", or name another ` +
        'with --core HOST:PORT.',
    );
  }
}
