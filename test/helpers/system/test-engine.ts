/** What tests ask of a real container engine of their own, whichever it is. */
export interface TestEngine {
  /** Path of its socket. */
  socket: string;
  folder: string;
  /** Names of its containers, a line each: those that run or stand still, unless something else is asked for. */
  names(which?: { all?: boolean; paused?: boolean }): Promise<string>;
  /** Runs a program in a container; stdout. */
  exec(container: string, ...command: string[]): Promise<string>;
  /** Makes an image of a root file system's tar; `changes` are lines of a Dockerfile. */
  importTar(file: string, name: string, ...changes: string[]): Promise<void>;
  /** Puts an image into a registry, with somebody's name and password. */
  push(image: string, name: string, credentials: { username: string; password: string }): Promise<void>;
  /** Images are read from this registry without TLS. */
  trustRegistry(address: string): Promise<void>;
  /** Ends its service at once; containers live on. */
  killService(): Promise<void>;
  startService(): Promise<void>;
  /** A process that goes with it. */
  keepPid(name: string, pid: number): void;
}
