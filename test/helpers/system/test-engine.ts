/** A real container engine that belongs to one test, Docker or Podman. */
export interface TestEngine {
  /** Path of its socket. */
  socket: string;
  folder: string;
  /** Returns the names of its containers, one per line. Default: containers that run or are paused. */
  names(which?: { all?: boolean; paused?: boolean }): Promise<string>;
  /** Runs a program in a container. Returns stdout. */
  exec(container: string, ...command: string[]): Promise<string>;
  /** Makes an image from the tar of a root file system; `changes` are lines of a Dockerfile. */
  importTar(file: string, name: string, ...changes: string[]): Promise<void>;
  /** Pushes an image to a registry with the given credentials. */
  push(image: string, name: string, credentials: { username: string; password: string }): Promise<void>;
  /** Makes the engine read images from this registry without TLS. */
  trustRegistry(address: string): Promise<void>;
  /** Kills its service. Containers keep running. */
  killService(): Promise<void>;
  startService(): Promise<void>;
  /** Registers a process that ends with the engine. */
  keepPid(name: string, pid: number): void;
}
