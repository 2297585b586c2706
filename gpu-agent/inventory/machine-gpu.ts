/** One GPU of this machine, or one MIG slice of a GPU. */
export interface MachineGpu {
  /** The driver's UUID; for a virtual GPU, a text that is unique within the cluster. */
  uuid: string;
  /** The driver's product name, for instance `NVIDIA L4`. */
  name: string;
  memoryMib: number;
  /** MIG profile, for instance `1g.10gb`. Empty for a whole GPU. */
  migProfile: string;
  /** Declared by the configuration, not by a driver. */
  virtual: boolean;
  /**
   * The driver's index of a whole card, by PCI bus. `undefined` for a slice or a virtual GPU, or if the indexes of this
   * machine are not reliable.
   */
  index?: number | undefined;
}
