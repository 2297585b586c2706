/** A port that a container exposes, as the public API writes it: 8888/http. */
import { Type } from 'typebox';

/** The schema. Core checks that the number is one of a port. */
export const Port = Type.String({ pattern: '^[0-9]{1,5}/(http|tcp|udp)$' });
