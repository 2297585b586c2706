/** Executes a plan. Each creation has an idempotency key, so a run after a crash creates nothing twice. */

import { createHash } from 'node:crypto';
import { retry } from '@slipway/kit/lifecycle/retry';
import { CreateEndpointRequest } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import { CreatePodRequest } from '@slipway/proto/gen/slipway/v1/pod_service';
import { CreateRegistryAuthRequest } from '@slipway/proto/gen/slipway/v1/registry_auth_service';
import { CreateTemplateRequest } from '@slipway/proto/gen/slipway/v1/template_service';
import { CreateNetworkVolumeRequest } from '@slipway/proto/gen/slipway/v1/volume_service';
import { CoreError } from '@slipway/proto/wire/reason';
import type { Cli } from '../cli.ts';
import { count } from '../output/words.ts';
import { retryWhileAway } from '../retry-while-away.ts';
import { endpointRequest } from './endpoint-request.ts';
import type { ImportContext } from './import-context.ts';
import { explainWait } from './import-context.ts';
import type { Step } from './plan.ts';
import { podRequest } from './pod-request.ts';
import type { RegistryAuthInput } from './registry-auth-inputs.ts';
import type { ImportKind } from './selection.ts';
import type { SourceRow } from './source/source-lists.ts';
import { sshKeysToAdd } from './ssh-keys.ts';
import { templateRequest } from './template-request.ts';
import { volumeRequest } from './volume-request.ts';

const BUSY_PAUSE = { firstMs: 500, maxMs: 5_000 };
const BUSY_MS_MAX = 60_000;

/** Id of a created resource, with notes for people. */
interface Made {
  id: string;
  notes: string[];
}

/** Request of a creation that can be repeated. */
interface Creation {
  requestId?: string | undefined;
  wantedId?: string | undefined;
}

/** Contents of the user's files, and the SSH keys of the source. */
interface Given {
  logins: ReadonlyMap<string, RegistryAuthInput>;
  /** Values of secrets. */
  values: ReadonlyMap<string, string>;
  sshKeys: readonly string[];
}

interface Codec<Request> {
  encode(request: Request): { finish(): Uint8Array };
}

export class PlanExecutor {
  readonly #cli: Cli;
  readonly #context: ImportContext;
  readonly #given: Given;

  constructor(cli: Cli, context: ImportContext, given: Given) {
    this.#cli = cli;
    this.#context = context;
    this.#given = given;
  }

  /**
   * Creates what the plan says. A failure does not stop the others. Throws UnreachableError or InterruptedError;
   * the same command continues.
   */
  async apply(steps: readonly Step[]): Promise<Step[]> {
    const { output } = this.#cli;
    const done: Step[] = [];
    try {
      for (const step of steps) {
        if (step.result === 'create') output.progress(`Creating ${step.kind}`, step.row.name);
        done.push(step.result === 'create' ? await this.#carryOut(step) : step);
      }
    } catch (error) {
      const made = done.filter(({ result }) => result === 'created').length;
      if (made > 0) output.note(`${count(made, 'resource')} created. The same command continues with the others.`);
      throw error;
    }
    output.clearProgress();
    return done;
  }

  async #carryOut(step: Step): Promise<Step> {
    // The plan's stand-in for its id must not be used if the creation fails.
    const known: Partial<Record<ImportKind, Map<string, string>>> = this.#context.references;
    const references = known[step.kind];
    references?.delete(step.row.id);
    try {
      const { id, notes } = await this.#create(step);
      references?.set(step.row.id, id);
      return { ...step, result: 'created', here: id, notes: [...step.notes, ...notes] };
    } catch (error) {
      return { ...step, result: 'failed', reason: explainWait(error) };
    }
  }

  async #create({ kind, row }: Step): Promise<Made> {
    const { core } = this.#cli;
    switch (kind) {
      case 'ssh-keys':
        return this.#addSshKeys();
      case 'secrets': {
        // Its key is random: one made of the request would be a digest of the value.
        const requestId = this.#cli.random.uuid();
        const request = { name: row.name, value: this.#given.values.get(row.name)!, description: '', requestId };
        const made = await this.#send(() => core.secrets.call((client) => client.createSecret, request));
        return { id: made.secret!.id, notes: [] };
      }
      case 'pods':
        return this.#once(row, CreatePodRequest, podRequest(row, this.#context).request, async (creation) => {
          const made = await core.pods.call((client) => client.createPod, creation);
          return { id: made.pod!.id, notes: [] };
        });
      case 'registries': {
        const request: CreateRegistryAuthRequest = {
          name: row.name,
          ...this.#given.logins.get(row.name)!,
          requestId: '',
        };
        return this.#once(row, CreateRegistryAuthRequest, request, async (creation) => {
          const made = await core.registryAuths.call((client) => client.createRegistryAuth, creation);
          return { id: made.registryAuth!.id, notes: [] };
        });
      }
      case 'volumes':
        return this.#once(
          row,
          CreateNetworkVolumeRequest,
          volumeRequest(row, this.#context).request,
          async (creation) => {
            const made = await core.volumes.call((client) => client.createNetworkVolume, creation);
            return { id: made.networkVolume!.id, notes: [] };
          },
        );
      case 'templates':
        return this.#withId(
          row,
          CreateTemplateRequest,
          templateRequest(row, this.#context).request,
          async (creation) => {
            const made = await core.templates.call((client) => client.createTemplate, creation);
            return { id: made.template!.id, notes: [] };
          },
        );
      case 'endpoints':
        return this.#withId(
          row,
          CreateEndpointRequest,
          endpointRequest(row, this.#context).request,
          async (creation) => {
            const { endpoint } = await core.endpoints.call((client) => client.createEndpoint, creation);
            const { id, cannotRunReason, modelReferences } = endpoint!;
            const isWithout = modelReferences.length === 0 && creation.endpoint!.modelReferences.length > 0;
            const notes = [
              ...(cannotRunReason === '' ? [] : [`cannot run yet: ${cannotRunReason}`]),
              ...(isWithout ? ['its cached models did not come along: core does not serve them'] : []),
            ];
            return { id, notes };
          },
        );
    }
  }

  /** Creates a resource with the id of the source, or with another one if that is not free here. */
  async #withId<Request extends Creation>(
    row: SourceRow,
    codec: Codec<Request>,
    request: Request,
    create: (request: Request) => Promise<Made>,
  ): Promise<Made> {
    try {
      return await this.#once(row, codec, request, create);
    } catch (error) {
      const isTaken = error instanceof CoreError && error.reason === 'NAME_TAKEN' && request.wantedId !== undefined;
      if (!isTaken) throw error;
      const { id, notes } = await this.#once(row, codec, { ...request, wantedId: undefined }, create);
      return { id, notes: [...notes, `its id ${row.id} is not free here: clients must use the new one`] };
    }
  }

  /** Creates a resource with a key that is the same for the same resource, source and settings. */
  async #once<Request extends Creation>(
    row: SourceRow,
    codec: Codec<Request>,
    request: Request,
    create: (request: Request) => Promise<Made>,
  ): Promise<Made> {
    const body = codec.encode({ ...request, requestId: '' }).finish();
    const digest = createHash('sha256').update(`${this.#context.origin}\n${row.id}\n`).update(body).digest('hex');
    const requestId = `import-${digest}`;
    try {
      return await this.#send(() => create({ ...request, requestId }));
    } catch (error) {
      // An earlier run made it, and it was deleted since: what is wanted now is another one.
      const isGone = error instanceof CoreError && error.reason === 'IDEMPOTENCY_KEY_REUSED';
      if (!isGone) throw error;
      const again = `${requestId}-${this.#cli.random.id(12)}`;
      return this.#send(() => create({ ...request, requestId: again }));
    }
  }

  async #addSshKeys(): Promise<Made> {
    const { core } = this.#cli;
    await this.#send(async () => {
      const { account } = await core.access.call((client) => client.getAccount, {});
      const here = (account?.publicKey ?? '').split('\n').filter((line) => line.trim() !== '');
      const publicKey = [...here, ...sshKeysToAdd(this.#given.sshKeys, here)].join('\n');
      await core.access.call((client) => client.updateAccount, { publicKey });
    });
    return { id: '', notes: [] };
  }

  /** Repeats a call while core is away or limits this account: every call here is safe to repeat. */
  #send<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    const { clock, random, stopping } = this.#cli;
    const mayHelp = (error: unknown): boolean => error instanceof CoreError && error.reason === 'RATE_LIMITED';
    return retry(() => retryWhileAway(this.#cli, call), {
      clock,
      random,
      pause: BUSY_PAUSE,
      forMs: BUSY_MS_MAX,
      signal: stopping,
      mayHelp,
    });
  }
}
