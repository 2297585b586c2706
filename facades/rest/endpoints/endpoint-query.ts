/** Path and query of endpoints (docs/reference/management.md#lists). */

import type { Static } from 'typebox';
import { Type } from 'typebox';
import { include } from '../filter.ts';

/** Path of one endpoint. */
export const EndpointPath = Type.Object({ endpointId: Type.String({ description: 'Id of the endpoint.' }) });

/** Query of the reads. */
export const EndpointQuery = Type.Object({
  includeTemplate: include('Adds the template.'),
  includeWorkers: include('Adds the workers, as pods.'),
});
export type EndpointQuery = Static<typeof EndpointQuery>;
