/** Finds the machine's container engine, and looks again later while there is none. */
import { access, constants } from 'node:fs/promises';
import type { Clock } from '@slipway/kit/time/clock';
import type { Engine } from './engine.ts';
import { askEngine, NoEngineError } from './engine.ts';

/** Where to look for an engine. */
export interface EngineSearch {
  /** `auto`, `none`, or the address of a socket. */
  setting: string;
  /** DOCKER_HOST; empty if not set. */
  dockerHost: string;
  /** XDG_RUNTIME_DIR; empty if not set. */
  runtimeDir: string;
}

/** How long a result is cached, in milliseconds. A missing engine is looked for again sooner. */
const FOUND_MS = 60_000;
const MISSING_MS = 5_000;

/** Returns the sockets to try, in order. Throws NoEngineError if an address cannot belong to this machine. */
export function socketsOf({ setting, dockerHost, runtimeDir }: EngineSearch): string[] {
  if (setting === 'none') throw new NoEngineError('containers are switched off on this machine');
  if (setting !== 'auto') return [socketOf(setting)];
  const user = runtimeDir === '' ? [] : [`${runtimeDir}/podman/podman.sock`, `${runtimeDir}/docker.sock`];
  const usual = ['/run/docker.sock', '/var/run/docker.sock', '/run/podman/podman.sock', ...user];
  return dockerHost === '' ? usual : [socketOf(dockerHost)];
}

/** Returns the path of the socket. Throws NoEngineError for an engine on another machine. */
function socketOf(address: string): string {
  const path = address.startsWith('unix://') ? address.slice('unix://'.length) : address;
  if (path.startsWith('/')) return path;
  throw new NoEngineError(
    `${address} is no container engine of this machine: name a socket, like unix:///run/podman/podman.sock`,
  );
}

export class EngineFinder {
  readonly #search: EngineSearch;
  readonly #clock: Clock;
  #asked: Promise<Engine> | undefined;
  #askedAtMs = 0;
  #missing = false;

  constructor(search: EngineSearch, clock: Clock) {
    this.#search = search;
    this.#clock = clock;
  }

  /** Returns the engine, looked up again if the cached result is old. Rejects with NoEngineError. */
  async find(): Promise<Engine> {
    const age = this.#clock.monotonicMs() - this.#askedAtMs;
    if (this.#asked && age < (this.#missing ? MISSING_MS : FOUND_MS)) return this.#asked;
    this.#askedAtMs = this.#clock.monotonicMs();
    this.#missing = false;
    const asked = this.#ask();
    this.#asked = asked;
    asked.catch(() => {
      this.#missing = true;
    });
    return asked;
  }

  async #ask(): Promise<Engine> {
    const sockets = socketsOf(this.#search);
    const faults: string[] = [];
    for (const socket of sockets) {
      // A single or configured socket must exist. Of several usual locations most do not.
      if (
        sockets.length > 1 &&
        !(await access(socket, constants.F_OK).then(
          () => true,
          () => false,
        ))
      )
        continue;
      try {
        return await askEngine(socket, this.#clock);
      } catch (error) {
        faults.push((error as Error).message);
      }
    }
    throw new NoEngineError(
      faults.length > 0 ? faults.join('; ') : `no container engine was found: none of ${sockets.join(', ')} is there`,
    );
  }
}
