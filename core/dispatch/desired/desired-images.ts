/**
 * Reads the images that machines may need: of endpoints that could run there, and of their pods. An agent keeps them
 * within its disk budget, and prefetches them if it can. They are read periodically, because a new image of an
 * endpoint without workers is not urgent.
 */

import type { Clock } from '@slipway/kit/time/clock';
import type { DesiredImage } from '@slipway/proto/gen/slipway/v1/agent_service';
import { runsWhere } from '../../domain/scaling/placement.ts';
import type { NamedImage } from '../../store/machines/image-store.ts';
import type { Stores } from '../../store/storage.ts';
import type { OpenCredentials } from '../agent-messages.ts';
import type { LiveSession } from '../live-session.ts';

/** Period of the reads in milliseconds, and the shorter one after a machine joined. */
const PERIOD_MS = 10_000;
const JOINED_PERIOD_MS = 1_000;
/** Most images of a machine, and their bytes in a message: they go with every change of its workers. */
const IMAGES_MAX = 1_000;
const BYTES_MAX = 262_144;
/** Bytes of an entry besides its texts. */
const ENTRY_BYTES = 100;
const NAME_LENGTH_MAX = 512;

interface DesiredImagesOptions {
  images: Pick<Stores['images'], 'named' | 'ofPods'>;
  machines: Pick<Stores['machines'], 'view'>;
  openCredentials: OpenCredentials;
  /** Returns all sessions of this replica. */
  sessions(): readonly Session[];
  clock: Clock;
}

type Session = Pick<LiveSession, 'machineId' | 'prefetches'>;

export class DesiredImages {
  readonly #options: DesiredImagesOptions;
  #readAtMs = -Infinity;
  #known = new Map<string, DesiredImage[]>();

  constructor(options: DesiredImagesOptions) {
    this.#options = options;
  }

  /** Returns images by machine. A new machine gets its images with the next read. */
  async current(): Promise<ReadonlyMap<string, DesiredImage[]>> {
    const sessions = this.#options.sessions();
    const ageMs = this.#options.clock.monotonicMs() - this.#readAtMs;
    const joined = sessions.some(({ machineId }) => !this.#known.has(machineId));
    if (ageMs < (joined ? JOINED_PERIOD_MS : PERIOD_MS)) return this.#known;
    this.#readAtMs = this.#options.clock.monotonicMs();
    this.#known = await this.#read(sessions);
    return this.#known;
  }

  async #read(sessions: readonly Session[]): Promise<Map<string, DesiredImage[]>> {
    const { images, machines } = this.#options;
    const found = new Map<string, DesiredImage[]>(sessions.map(({ machineId }) => [machineId, []]));
    const here = await machines.view();
    const byId = new Map(here.map((machine) => [machine.id, machine]));
    const withEngine = sessions.flatMap((session) => {
      const machine = byId.get(session.machineId);
      return machine?.engine ? [{ session, machine }] : [];
    });
    if (withEngine.length === 0) return found;
    const named = await images.named();
    const ofPods = Map.groupBy(
      await images.ofPods(withEngine.map(({ machine }) => machine.id)),
      ({ machineId }) => machineId,
    );
    const runsOn = runsWhere(here);
    for (const { session, machine } of withEngine) {
      const list = new ImageList();
      for (const { imageName, digest } of ofPods.get(machine.id) ?? [])
        list.add({ name: imageName, digest, registryCredentials: undefined });
      for (const endpoint of named) {
        if (list.hasSpace && !list.has(endpoint.imageName, endpoint.digest) && runsOn(machine, endpoint))
          this.#add(list, endpoint, session);
      }
      found.set(machine.id, list.images);
    }
    return found;
  }

  #add(list: ImageList, endpoint: NamedImage, { prefetches }: Session): void {
    const { imageName: name, digest, registryAuthId, credentialsSealed } = endpoint;
    const isPulled = prefetches && registryAuthId !== null && credentialsSealed !== null;
    list.add({
      name,
      digest,
      registryCredentials: isPulled ? this.#options.openCredentials(registryAuthId, credentialsSealed) : undefined,
    });
  }
}

/** Images of one machine, within the bounds. */
class ImageList {
  readonly images: DesiredImage[] = [];
  readonly #names = new Set<string>();
  #bytes = 0;

  get hasSpace(): boolean {
    return this.images.length < IMAGES_MAX && this.#bytes < BYTES_MAX;
  }

  has(name: string, digest: string): boolean {
    return this.#names.has(`${name} ${digest}`);
  }

  add(image: DesiredImage): void {
    const { name, digest, registryCredentials: login } = image;
    if (!this.hasSpace || name.length > NAME_LENGTH_MAX || this.has(name, digest)) return;
    this.#names.add(`${name} ${digest}`);
    this.#bytes +=
      ENTRY_BYTES + name.length + digest.length + (login ? login.username.length + login.password.length : 0);
    this.images.push(image);
  }
}
