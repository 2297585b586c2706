/** A schema for one of several words, as OpenAPI readers expect it: a string with an enum. */

import type { TUnsafe } from 'typebox';
import { Type } from 'typebox';

/** Returns the schema. `missing`: word that applies if none is given. */
export function oneOf<const Word extends string>(
  words: readonly Word[],
  description?: string,
  missing?: NoInfer<Word>,
): TUnsafe<Word> {
  return Type.Unsafe<Word>({
    type: 'string',
    enum: words,
    ...(description === undefined ? {} : { description }),
    ...(missing === undefined ? {} : { default: missing }),
  });
}
