/**
 * Tells clients which members of a body mean nothing here: they are taken without effect, as upstream takes them, and
 * named in a header.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TObject } from 'typebox';

/** Lower case, as Node writes it. */
const IGNORED_HEADER = 'x-slipway-ignored';
/** Most names in the header, and most characters of each: together they stay below 1 KiB. */
const NAMES_MAX = 20;
const NAME_LENGTH_MAX = 48;

/** Documents the header. */
export const ignoredHeader = {
  [IGNORED_HEADER]: {
    type: 'string',
    description: `Members of the body that have no meaning here and were ignored, separated by commas; at most ${NAMES_MAX}. Not sent when there are none.`,
  },
};

/** Names what a body has beyond its shape. */
export type NameIgnored = (request: FastifyRequest, reply: FastifyReply, body: Record<string, unknown>) => void;

/** For routes whose body is a reference to one of these shapes. */
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
 * Tools send sizes along with GPUs; only what is made without any has one. A change does not say which of both it is
 * about.
 */
function isForCpu(name: string, body: Record<string, unknown>, ref: string): boolean {
  return (
    (name === 'vcpuCount' || name === 'cpuFlavorIds') &&
    body[name] !== null &&
    body['computeType'] !== 'CPU' &&
    ref.endsWith('CreateInput#')
  );
}

/** Other characters could end the header, or are read differently by every client. */
function safe(name: string): string {
  return name.slice(0, NAME_LENGTH_MAX).replaceAll(/[^\w.-]/g, '?');
}
