/** Turns the texts of a query into what its schema asks for: a query has no types of its own. */
import type { preHandlerHookHandler } from 'fastify';
import type { TObject } from 'typebox';

/** A hook for one schema: `true` and `false` where it wants a boolean, and a list of one where it wants a list. */
export function readQuery(schema: TObject): preHandlerHookHandler {
  const types = new Map(Object.entries(schema.properties).map(([name, member]) => [name, (member as { type?: string }).type]));
  return (request, _reply, done) => {
    const query = request.query as Record<string, unknown>;
    for (const [name, value] of Object.entries(query)) query[name] = typed(value, types.get(name));
    done();
  };
}

/** What cannot be turned stays as it is: the schema refuses it. */
function typed(value: unknown, type: string | undefined): unknown {
  if (type === 'array' && typeof value === 'string') return [value];
  if (type === 'boolean' && value === 'true') return true;
  return type === 'boolean' && value === 'false' ? false : value;
}
