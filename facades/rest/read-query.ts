/** Converts the texts of a query to the types of its schema, because a query has no types. */
import type { preHandlerHookHandler } from 'fastify';
import type { TObject } from 'typebox';

/**
 * Returns a hook that converts the query for a schema: `true` and `false` to booleans, and a single value to a list.
 * Many clients write lists as `name[]` (docs/reference/management.md#lists). Unconverted, that name would be unknown,
 * and nothing would be filtered.
 */
export function readQuery(schema: TObject): preHandlerHookHandler {
  const types = new Map(
    Object.entries(schema.properties).map(([name, member]) => [name, (member as { type?: string }).type]),
  );
  return (request, _reply, done) => {
    const query = request.query as Record<string, unknown>;
    for (const [written, value] of Object.entries(query)) {
      const name = written.replace(/\[\]$/, '');
      if (name === written) query[name] = typed(query[name], types.get(name));
      else if (types.get(name) === 'array') {
        delete query[written];
        query[name] = [query[name] ?? [], value].flat();
      }
    }
    done();
  };
}

/** Converts a value to a type. A value that cannot be converted stays, and the schema rejects it. */
function typed(value: unknown, type: string | undefined): unknown {
  if (type === 'array' && typeof value === 'string') return [value];
  if (type === 'boolean' && value === 'true') return true;
  return type === 'boolean' && value === 'false' ? false : value;
}
