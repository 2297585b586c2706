/** One GPU of this machine, or one MIG slice of a GPU. */
export interface MachineGpu {
  /** The driver's UUID; of a virtual one a text that is unique within the cluster. */
  uuid: string;
  /** The driver's product name, for instance `NVIDIA L4`. */
  name: string;
  memoryMib: number;
  /** MIG profile, for instance `1g.10gb`. Empty for a whole GPU. */
  migProfile: string;
  /** Declared by configuration, not by a driver. */
  virtual: boolean;
  /**
   * The driver's number of a whole card, by PCI bus. Undefined: a slice, a virtual GPU, or numbers of this machine
   * cannot be relied upon.
   */
  index?: number | undefined;
}
