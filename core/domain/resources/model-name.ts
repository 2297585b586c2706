/** Names of models: the aliases that an owner gives, and the names by which workers serve a model. Pure. */
import { invalid } from '../settings/fields.ts';

/** Most aliases of an endpoint. */
const ALIASES_MAX = 20;
/** Longest name of a model in characters, as the longest name of an endpoint. */
export const MODEL_NAME_LENGTH_MAX = 191;
const ALIAS_FORM = /^[A-Za-z0-9][A-Za-z0-9._\-/:@+]{0,190}$/;

/**
 * Throws INVALID_REQUEST unless there are at most 20 different names that fit into a path and a JSON text as they are.
 */
export function checkModelAliases(aliases: readonly string[]): void {
  if (aliases.length > ALIASES_MAX)
    throw invalid(`model_aliases has ${aliases.length} entries, but may have ${ALIASES_MAX}`);
  for (const alias of aliases) {
    if (!ALIAS_FORM.test(alias))
      throw invalid(
        `model_aliases: ${JSON.stringify(alias.slice(0, 64))} is not 1 to ${MODEL_NAME_LENGTH_MAX} letters, ` +
          'digits and ._-/:@+, beginning with a letter or a digit',
      );
  }
  if (new Set(aliases).size < aliases.length) throw invalid('model_aliases names one twice');
}

/** Variables that name the model of public worker images, in order of precedence. */
const NAME_VARIABLES = ['OPENAI_SERVED_MODEL_NAME_OVERRIDE', 'SERVED_MODEL_NAME', 'MODEL_NAMES', 'MODEL_NAME'];

/**
 * Returns the names by which workers with this environment serve their models, the first one first. Empty if the
 * environment does not name one. MODEL_NAMES of embedding workers holds several, separated by semicolons.
 */
export function workerModelsOf(env: Readonly<Record<string, string>>): string[] {
  const variable = NAME_VARIABLES.find((name) => (env[name] ?? '').trim() !== '');
  if (variable === undefined) return [];
  const value = env[variable]!;
  const names = (variable === 'MODEL_NAMES' ? value.split(';') : [value]).map((name) => name.trim());
  // A reference to a secret is not the name.
  return names.filter((name) => name !== '' && name.length <= MODEL_NAME_LENGTH_MAX && !name.includes('{{'));
}
