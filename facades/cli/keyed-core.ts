/** The command line's calls of core: one channel for each service, opened at its first call. */
import { status as Code } from '@grpc/grpc-js';
import type { CallOptions, Client, ClientUnaryCall, Metadata, ServiceError } from '@grpc/grpc-js';
import type { Clock } from '../../core/runtime/clock.ts';
import { AccessServiceClient, KeyServiceClient } from '../../proto/gen/slipway/v1/access_service.ts';
import { AuditServiceClient } from '../../proto/gen/slipway/v1/audit_service.ts';
import { EndpointServiceClient } from '../../proto/gen/slipway/v1/endpoint_service.ts';
import { JobServiceClient } from '../../proto/gen/slipway/v1/job_service.ts';
import { MachineServiceClient } from '../../proto/gen/slipway/v1/machine_service.ts';
import { PodServiceClient } from '../../proto/gen/slipway/v1/pod_service.ts';
import { RegistryAuthServiceClient } from '../../proto/gen/slipway/v1/registry_auth_service.ts';
import { TemplateServiceClient } from '../../proto/gen/slipway/v1/template_service.ts';
import { UsageServiceClient } from '../../proto/gen/slipway/v1/usage_service.ts';
import { VolumeServiceClient } from '../../proto/gen/slipway/v1/volume_service.ts';
import { callMetadata, openClient } from '../../proto/wire/channel.ts';
import type { ClientConstructor } from '../../proto/wire/channel.ts';
import { CoreError, fromGrpcError } from '../../proto/wire/reason.ts';
import { interruptionOf, RefusedError, UnreachableError } from './failures.ts';

/** Time for a call that does not wait, in milliseconds. */
const CALL_MS_MAX = 15_000;

/** A generated unary method in its longest form. */
type UnaryMethod<Request, Response> = (
  request: Request, metadata: Metadata, options: Partial<CallOptions>, callback: (error: ServiceError | null, response: Response) => void,
) => ClientUnaryCall;

/** Calls one service: `call((client) => client.getJob, request)`. Throws CoreError, UnreachableError or InterruptedError. */
export interface ServiceCalls<Service extends Client> {
  /** `waitMs`: how long the call may wait on the far side, in milliseconds; default 0. `signal` gives it up as well. */
  call<Request, Response>(
    method: (client: Service) => UnaryMethod<Request, Response>, request: Request, options?: { waitMs?: number; signal?: AbortSignal },
  ): Promise<Response>;
}

/** What the calls need. */
export interface KeyedCoreOptions {
  /** host:port. */
  address: string;
  apiKey: string;
  /** Where the key was found, for people. */
  keySource: string;
  clock: Clock;
  /** Aborts, with a signal's name as its reason, when the command shall end. */
  stopping: AbortSignal;
}

export class KeyedCore {
  readonly #options: KeyedCoreOptions;
  readonly #open: Client[] = [];
  readonly access = this.#service(AccessServiceClient);
  readonly keys = this.#service(KeyServiceClient);
  readonly endpoints = this.#service(EndpointServiceClient);
  readonly templates = this.#service(TemplateServiceClient);
  readonly jobs = this.#service(JobServiceClient);
  readonly machines = this.#service(MachineServiceClient);
  readonly volumes = this.#service(VolumeServiceClient);
  readonly registryAuths = this.#service(RegistryAuthServiceClient);
  readonly pods = this.#service(PodServiceClient);
  readonly usage = this.#service(UsageServiceClient);
  readonly audit = this.#service(AuditServiceClient);

  constructor(options: KeyedCoreOptions) {
    this.#options = options;
  }

  /** Closes the channels; calls in flight end. */
  close(): void {
    for (const client of this.#open) client.close();
  }

  #service<Kind extends Client>(Constructor: ClientConstructor<Kind>): ServiceCalls<Kind> {
    let client: Kind | undefined;
    const open = (): Kind => {
      const opened = openClient(Constructor, this.#options.address);
      this.#open.push(opened);
      return opened;
    };
    return {
      call: (method, request, { waitMs = 0, signal } = {}) => {
        client ??= open();
        return this.#call(client, method(client), request, CALL_MS_MAX + waitMs, signal);
      },
    };
  }

  #call<Request, Response>(
    client: Client, method: UnaryMethod<Request, Response>, request: Request, msMax: number, given: AbortSignal | undefined,
  ): Promise<Response> {
    const { apiKey, clock, stopping } = this.#options;
    const signal = given ? AbortSignal.any([given, stopping]) : stopping;
    if (signal.aborted) return Promise.reject(interruptionOf(signal));
    const metadata = callMetadata(apiKey);
    return new Promise((resolve, reject) => {
      const call = method.call(client, request, metadata, { deadline: clock.nowMs() + msMax }, (error, response) => {
        signal.removeEventListener('abort', giveUp);
        if (!error) resolve(response);
        else reject(signal.aborted ? interruptionOf(signal) : this.#explain(error));
      });
      const giveUp = (): void => call.cancel();
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  #explain(error: ServiceError): Error {
    const { address, keySource } = this.#options;
    if (error.code === Code.UNIMPLEMENTED) return new RefusedError(`The core at ${address} is of another version and does not serve this.`);
    const failed = fromGrpcError(error);
    if (failed.reason === 'UNAUTHORIZED') {
      return new CoreError('UNAUTHORIZED', `${failed.message} The key that was used is the one ${keySource}.`, { cause: error });
    }
    // What core itself says travels as the status's own text; a broken connection has none of core's.
    if (failed.reason !== 'UNAVAILABLE' || failed.message === error.details) return failed;
    const how = error.code === Code.DEADLINE_EXCEEDED ? 'it did not answer in time' : 'no connection';
    return new UnreachableError(
      `Core cannot be reached at ${address} (${how}). Start it, for instance with "npm start", or name another with --core HOST:PORT.`,
    );
  }
}
