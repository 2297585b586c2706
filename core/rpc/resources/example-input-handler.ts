/** Handles EndpointService.GetExampleInput: an example of a request to an endpoint. */
import type { EndpointServiceServer } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import { ExampleInputOrigin } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import type { Access } from '../../access/access.ts';
import { readExampleInput } from '../../endpoints/read-example-input.ts';
import type { Stores } from '../../store/storage.ts';
import type { ListParts } from '../server/paging.ts';
import { listing } from '../server/paging.ts';

/** Returns the handler. The input of a job may be large to read, so the limits of lists apply. */
export function exampleInputHandler(
  access: Access,
  stores: Pick<Stores, 'endpoints' | 'templates' | 'jobs'>,
  lists: ListParts,
): Pick<EndpointServiceServer, 'getExampleInput'> {
  return {
    getExampleInput: listing(lists, async ({ endpointId }, apiKey, enter) => {
      const { accountId, caller } = await access.check(apiKey, { api: 'JOBS', endpointId, write: false });
      await enter(accountId);
      const { origin, ...chosen } = await readExampleInput(stores, endpointId, caller.scope !== 'ROOT');
      return { ...chosen, origin: ExampleInputOrigin[origin] };
    }),
  };
}
