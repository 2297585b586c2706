/** What rules over GPUs that are short compare accounts by. */

/** What an account has of GPUs, and its weight against others: its share is the one by the other. */
export interface GpuShare {
  accountId: string;
  gpus: number;
  /** 1 and up. */
  weight: number;
}
