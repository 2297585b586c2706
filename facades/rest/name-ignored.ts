/**
 * Names the members of a body that have no meaning here, in a response header. They are accepted without effect, as
 * upstream accepts them.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TObject } from 'typebox';

/** In lower case, as in Node. */
const IGNORED_HEADER = 'x-slipway-ignored';
/** Most names in the header, and most characters of each. Together they stay below 1 KiB. */
const NAMES_MAX = 20;
const NAME_LENGTH_MAX = 48;

/** Documentation of the header. */
export const ignoredHeader = {
  [IGNORED_HEADER]: {
    type: 'string',
    description:
      `Members of the body that were ignored because they have no meaning here, separated ` +
      `by commas, at most ${NAMES_MAX}. Absent if there are none.`,
  },
};

/** Names the members of a body that its shape does not have. */
export type NameIgnored = (request: FastifyRequest, reply: FastifyReply, body: Record<string, unknown>) => void;

/** Returns the function for routes whose body is a reference to one of these shapes. */
export function nameIgnored(shapes: readonly { $id?: string; properties?: object }[]): NameIgnored {
  const known = new Map(shapes.map(({ $id, properties }) => [`${$id}#`, new Set(Object.keys(properties ?? {}))]));
  return (request, reply, body) => {
    const ref = (request.routeOptions.schema?.body as Partial<TObject & { $ref: string }> | undefined)?.$ref ?? '';
    const names = known.get(ref);
    const ignored =
      names === undefined ? [] : Object.keys(body).filter((name) => !names.has(name) || isForCpu(name, body, ref));
    if (ignored.length > 0) reply.header(IGNORED_HEADER, ignored.slice(0, NAMES_MAX).map(safe).join(', '));
  };
}

/**
 * Returns whether a member only applies to CPU resources. Tools send CPU sizes along with GPUs, but only resources
 * without GPUs have one. A change does not say which kind of resource it is for.
 */
function isForCpu(name: string, body: Record<string, unknown>, ref: string): boolean {
  return (
    (name === 'vcpuCount' || name === 'cpuFlavorIds') &&
    body[name] !== null &&
    body['computeType'] !== 'CPU' &&
    ref.endsWith('CreateInput#')
  );
}

/** Replaces other characters: they could end the header, or clients would read them differently. */
function safe(name: string): string {
  return name.slice(0, NAME_LENGTH_MAX).replaceAll(/[^\w.-]/g, '?');
}
