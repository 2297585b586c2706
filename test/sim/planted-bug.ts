/** What a planted bug is: patches of the source, as it is loaded. */

/** A change of a source file, as it is loaded. */
export interface Patch {
  /** Path in the project. */
  file: string;
  /** Text that must be there exactly once. */
  find: string;
  put: string;
}

export interface PlantedBug {
  name: string;
  patches: readonly Patch[];
  /** Seeds within which it must be found. 0: the simulation does not find it yet (README.md). */
  seeds: number;
  /** It is looked for with a slow database in place of faults. Default: false. */
  slow?: boolean;
}

/** Makes a bug of one patch. */
export function bug(name: string, seeds: number, file: string, find: string, put: string): PlantedBug {
  return { name, seeds, patches: [{ file, find, put }] };
}
