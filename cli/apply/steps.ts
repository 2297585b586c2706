/** Steps of `slipway apply`, one for each resource, and the facts that decide them. */

import type { Cli } from '../cli.ts';
import type { Account } from './account.ts';
import type { Desired, Entry } from './read-files.ts';
import type { Section } from './sections.ts';
import type { Change } from './values.ts';

/** One resource and what happens to it. */
export interface Step {
  section: Section;
  name: string;
  action: 'create' | 'update' | 'keep' | 'delete';
  changes: Change[];
  /** Id here. `undefined`: it is to be created. */
  id: string | undefined;
  /** Desired values, with the mark of the owner. Empty for what is to be deleted. */
  values: Readonly<Record<string, unknown>>;
  /** Value of a secret, or password. `undefined`: it is not sent. */
  secret?: string | undefined;
}

export interface PlanOptions {
  /** Delete what has the mark of the owner and is in no file. */
  prune: boolean;
  /** Send values of secrets and passwords that are there already. */
  updateSecrets: boolean;
}

/** An entry of a file and everything that it is compared with. */
export interface EntryContext {
  cli: Cli;
  section: Section;
  name: string;
  entry: Entry;
  wanted: Desired;
  account: Account;
  options: PlanOptions;
  fault(text: string): void;
}
