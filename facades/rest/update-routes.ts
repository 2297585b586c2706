/** The two routes that change a resource: PATCH of its path, and POST of `…/update` for clients without PATCH. */
import type { FastifyInstance } from 'fastify';
import type { TSchema } from 'typebox';
import type { Caller } from '../plugins/request-state.ts';
import type { RestParts } from './rest-parts.ts';
import { changed, errors, idOf, ref } from './rest-parts.ts';

/** Describes the change of one kind of resource. */
interface ResourceUpdate<Input, Resource> {
  /** Shape of the response. `<shape>UpdateInput` is the shape of the body, `Update<shape>` the operation. */
  shape: string;
  /** Words for people: the summary is "Change an endpoint". */
  thing: Parameters<typeof idOf>[1];
  /** Path of the collection, for instance `/v1/endpoints`. */
  collection: string;
  /** Path parameter that holds the id, and its schema. */
  idName: string;
  params: TSchema;
  /** Changes the members that the body has and returns the resource. An empty change returns it unchanged. */
  update: (id: string, input: Input, caller: Caller) => Promise<Resource>;
}

/** Adds both routes. */
export function updateRoutes<Input, Resource>(
  app: FastifyInstance,
  { gate, readJson }: Pick<RestParts, 'gate' | 'readJson'>,
  { shape, thing, collection, idName, params, update }: ResourceUpdate<Input, Resource>,
): void {
  const path = `${collection}/:${idName}`;
  const forms = [
    { method: 'PATCH', url: path, operationId: `Update${shape}` },
    { method: 'POST', url: `${path}/update`, operationId: `Update${shape}ByPost` },
  ];
  for (const { method, url, operationId } of forms) {
    const schema = {
      operationId,
      tags: [`${thing}s`],
      summary: `Change ${/^[aeiou]/.test(thing) ? 'an' : 'a'} ${thing}`,
      params,
      body: ref<Input>(`${shape}UpdateInput`),
      response: { 200: changed<Resource>(shape), ...errors(404) },
    };
    app.route({
      method,
      url,
      schema,
      onRequest: gate,
      preValidation: readJson,
      handler: (request) => {
        const id = idOf((request.params as Record<string, string>)[idName] ?? '', thing);
        return update(id, request.body as Input, request.caller);
      },
    });
  }
}
