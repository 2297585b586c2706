/**
 * The mesh and the documents that run on it. Both are imported when they are needed: they load slowly, and an idle
 * process without GraphQL requests has no memory for them.
 */
import type { MeshInstance } from '@graphql-mesh/runtime';
import { BaseService } from '@slipway/kit/lifecycle/service';
import type { Clock } from '@slipway/kit/time/clock';
import type { CoreServices } from '../core-client/core-services.ts';
import type { Documents, GraphqlRequest, PreparedOperation } from './documents.ts';

/** The mesh with its documents. */
interface LoadedMesh {
  mesh: MeshInstance;
  documents: Documents;
}

export class GraphqlExecutor extends BaseService {
  readonly name = 'graphql';
  readonly #core: CoreServices;
  readonly #clock: Clock;
  readonly #atStart: boolean;
  #loaded: Promise<LoadedMesh> | undefined;

  /** `core`: serves the calls. `atStart`: loads the mesh at the start. */
  constructor(core: CoreServices, clock: Clock, atStart: boolean) {
    super();
    this.#core = core;
    this.#clock = clock;
    this.#atStart = atStart;
  }

  /** Starts loading the mesh, which takes a second. Requests wait for it. */
  protected override onStart(): void {
    if (this.#atStart) void this.#load().catch(() => undefined);
  }

  protected override async onStop(): Promise<void> {
    const loading = this.#loaded;
    this.#loaded = undefined;
    const loaded = await loading?.catch(() => undefined);
    loaded?.mesh.destroy();
  }

  /** Parses and validates a document. Throws InvalidDocument. */
  async prepare(request: GraphqlRequest): Promise<PreparedOperation> {
    return (await this.#load()).documents.prepare(request);
  }

  #load(): Promise<LoadedMesh> {
    this.#loaded ??= this.#make().catch((error: unknown) => {
      this.#loaded = undefined;
      throw error;
    });
    return this.#loaded;
  }

  async #make(): Promise<LoadedMesh> {
    const [{ composeMesh }, { Documents: Loaded }, { takeQuotedWords }] = await Promise.all([
      import('./mesh.ts'),
      import('./documents.ts'),
      import('./quoted-words.ts'),
    ]);
    const mesh = await composeMesh(this.#core);
    takeQuotedWords(mesh.schema);
    return { mesh, documents: new Loaded(mesh, this.#clock) };
  }
}
