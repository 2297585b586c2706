/** How much is free, in the words of REST v2. */
import { Type } from 'typebox';
import type { availabilityWord } from '../../resources/availability-word.ts';
import { named, word } from '../schema-parts.ts';

const LEVELS = ['NONE', 'LOW', 'MEDIUM', 'HIGH'] as const;
export type Level = (typeof LEVELS)[number];

/** Schema of a level. */
export const levels = named('AvailabilityLevel', word(LEVELS, 'How many are free.'));

/** Schema of the availability in one data centre. */
export const dataCenterAvailability = named(
  'DataCenterAvailability',
  Type.Object({ id: Type.String(), name: Type.String(), availability: levels }),
);

/** Returns the level for a word of the other surfaces. */
export function availabilityOf(stock: ReturnType<typeof availabilityWord>): Level {
  return stock.toUpperCase() as Level;
}
