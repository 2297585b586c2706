/**
 * Images of a container engine: finds, pulls, lists and removes them. Uses only what Docker and Podman both understand.
 */
import type Docker from 'dockerode';
import type { ImageName } from './image-name.ts';
import { parseImageName } from './image-name.ts';
import type { ImageCredentials } from './prepare-error.ts';
import type { PullEvent } from './pull-progress.ts';

/** An image on this machine. */
export interface StoredImage {
  /** Identifies its bytes to the engine, even if tags move. */
  id: string;
  /** Full names that the engine has for it; may be several, or none. */
  names: string[];
  /** `repository@sha256:…` for each registry that it came from. */
  digests: string[];
  sizeBytes: number;
  /** Processor architecture that it was built for, for instance `amd64`; empty in a list. */
  architecture: string;
  /**
   * User that its programs run as: a name or number, with or without a group, empty for root. `undefined` in a list.
   */
  user?: string;
}

/** Image API of one engine. */
export class ImageStore {
  readonly #docker: Docker;

  constructor(docker: Docker) {
    this.#docker = docker;
  }

  /** Finds an image by name, digest or id; `undefined` if it is not here. */
  async find(name: string): Promise<StoredImage | undefined> {
    try {
      const info = await this.#docker.getImage(name).inspect();
      return {
        id: idOf(info.Id),
        names: info.RepoTags ?? [],
        digests: info.RepoDigests ?? [],
        sizeBytes: info.Size,
        architecture: info.Architecture ?? '',
        user: info.Config?.User ?? '',
      };
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw error;
    }
  }

  async list(): Promise<StoredImage[]> {
    const images = await this.#docker.listImages();
    return images.map((info) => ({
      id: idOf(info.Id),
      names: info.RepoTags ?? [],
      digests: info.RepoDigests ?? [],
      sizeBytes: info.Size,
      architecture: '',
    }));
  }

  /**
   * Returns the layers of an image and the bytes of each, from the lowest. Entries of its history that added nothing
   * are left out. `undefined` if the image is gone.
   */
  async layers(id: string): Promise<{ diffIds: string[]; sizes: number[] } | undefined> {
    const image = this.#docker.getImage(id);
    try {
      const [{ RootFS }, history] = await Promise.all([
        image.inspect(),
        image.history() as Promise<{ Size: number }[]>,
      ]);
      return {
        diffIds: RootFS.Layers ?? [],
        sizes: history
          .map(({ Size }) => Size)
          .filter((bytes) => bytes > 0)
          .reverse(),
      };
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw error;
    }
  }

  /** Pulls an image. Resolves once all of it is here. Rejects with the engine's message, or the signal's reason. */
  async pull(
    name: ImageName,
    credentials: ImageCredentials | undefined,
    onEvent: (event: PullEvent) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const auth = credentials && {
      username: credentials.username,
      password: credentials.password,
      serveraddress: name.registry,
    };
    const stream = await this.#openPull(name, auth, signal);
    let failure = '';
    try {
      for await (const event of linesOf(stream)) {
        failure ||= event.error ?? '';
        onEvent(event);
      }
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    }
    signal.throwIfAborted();
    if (failure !== '') throw new Error(failure);
  }

  /** Removes an image. Returns false if something uses it, or if it is gone. */
  async remove(id: string): Promise<boolean> {
    try {
      await this.#docker.getImage(id).remove({ force: false });
      return true;
    } catch (error) {
      if (statusOf(error) === 404 || statusOf(error) === 409) return false;
      throw error;
    }
  }

  /** Returns the ids of images that containers use, running or not. */
  async inUse(): Promise<Set<string>> {
    const containers = await this.#docker.listContainers({ all: true });
    return new Set(containers.map(({ ImageID }) => idOf(ImageID)));
  }

  #openPull(name: ImageName, authconfig: object | undefined, abortSignal: AbortSignal): Promise<NodeJS.ReadableStream> {
    return new Promise((resolve, reject) => {
      this.#docker.modem.dial(
        {
          path: '/images/create?',
          options: { _query: { fromImage: name.repository, tag: name.digest || name.tag }, _body: {} },
          method: 'POST',
          authconfig,
          abortSignal,
          isStream: true,
          statusCodes: { 200: true, 400: 'bad request', 404: 'not found', 500: 'server error' },
        } as Parameters<Docker['modem']['dial']>[0],
        (error, stream) => {
          if (error) reject(abortSignal.aborted ? (abortSignal.reason as Error) : (error as Error));
          else resolve(stream as NodeJS.ReadableStream);
        },
      );
    });
  }
}

/**
 * Returns the image's digest at its registry: that of `name` when it was pulled. Empty if the image came from no
 * registry.
 */
export function digestOf(image: StoredImage, name: ImageName): string {
  const own = digestsOf(image, name);
  return own.find((digest) => name.digest === '' || digest === name.digest) ?? '';
}

/**
 * Returns all digests that the engine has for the image in that repository. Podman adds the digest that an image had
 * before it was pushed from here, which no registry knows.
 */
export function digestsOf(image: StoredImage, name: ImageName): string[] {
  return image.digests
    .map(parseImageName)
    .flatMap((digest) => (digest?.repository === name.repository ? [digest.digest] : []));
}

/** Returns the HTTP status of an engine's answer; `undefined` if it gave none. */
export function statusOf(error: unknown): number | undefined {
  return (error as { statusCode?: number } | undefined)?.statusCode;
}

/** Completes an id: Podman leaves the algorithm out in some answers. */
function idOf(id: string): string {
  return id.includes(':') ? id : `sha256:${id}`;
}

async function* linesOf(stream: NodeJS.ReadableStream): AsyncGenerator<PullEvent> {
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop()!;
    for (const line of lines) if (line.trim() !== '') yield JSON.parse(line) as PullEvent;
  }
  if (rest.trim() !== '') yield JSON.parse(rest) as PullEvent;
}
