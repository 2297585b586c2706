/**
 * Environments of workers and pods with the values of the secrets that they name. Made for a start order and never
 * stored.
 */

import type { Sealer } from '@slipway/kit/host/seal';
import type { Logger } from '@slipway/kit/log/logger';
import type { SecretRefusal, SecretValue, StartVariables } from '../../domain/resources/secret-reference.ts';
import {
  resolveSecrets,
  secretNamesOf,
  secretRefusalChange,
  secretRefusalText,
} from '../../domain/resources/secret-reference.ts';
import { secretValueIdentity } from '../../domain/settings/sealed-identity.ts';
import type { SealedSecret } from '../../store/resources/secret-store.ts';
import type { Stores } from '../../store/storage.ts';

/** A specification with its unresolved environment. */
interface StartSpec {
  accountId: string;
  start: StartVariables;
}

/** Returns the environment of one of the specifications, or why it must not start. */
export type ResolveVariables = (spec: StartSpec) => { env: Record<string, string>; refusal?: SecretRefusal };

interface SecretResolverOptions {
  secrets: Pick<Stores['secrets'], 'valuesOf'>;
  sealer: Sealer;
  logger: Logger;
}

export class SecretResolver {
  readonly #options: SecretResolverOptions;

  constructor(options: SecretResolverOptions) {
    this.#options = options;
  }

  /** Reads the secrets that these specifications name, as they are now. */
  async of(specs: readonly StartSpec[]): Promise<ResolveVariables> {
    const names = specs.flatMap(({ accountId, start }) =>
      secretNamesOf(start.env).map((name) => ({ accountId, name })),
    );
    const rows = names.length === 0 ? [] : await this.#options.secrets.valuesOf(names);
    const values = new Map(rows.map((row) => [keyOf(row.accountId, row.name), this.#open(row)]));
    return ({ accountId, start }) => resolveSecrets(start, (name) => values.get(keyOf(accountId, name)));
  }

  /** Decrypts a value. A failure is logged and not thrown: it must not delay the workers of other accounts. */
  #open({ id, accountId, valueSealed }: SealedSecret): SecretValue {
    try {
      return this.#options.sealer.open(valueSealed, secretValueIdentity(accountId, id)).toString();
    } catch (error) {
      this.#options.logger.error({ err: error, accountId, id }, 'the value of a secret does not open');
      return { unreadable: true };
    }
  }
}

/** Returns why a worker or pod was not started, for its owner. */
export function notStartedReason(refusal: SecretRefusal): string {
  const text = secretRefusalText(refusal);
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}: ${secretRefusalChange(refusal)}.`;
}

/** Returns the key of a secret. Names have no NUL, which separates its parts. */
function keyOf(accountId: string, name: string): string {
  return `${accountId}\0${name}`;
}
