/** Members of bodies that are accepted and have no effect here. The response lists the ones that were set. */
import type { TSchema } from 'typebox';

/** Keyword of a schema: the value that holds whatever a body says. It is part of the OpenAPI document. */
const IN_EFFECT = 'x-slipway-in-effect';
/** Header that names the members, as in REST v1. */
export const IGNORED_HEADER = 'x-slipway-ignored';

/** Returns the schema options of a member without effect. `value`: what holds instead of it. */
export function alwaysIs(value: unknown, why: string): { description: string; [IN_EFFECT]: unknown } {
  return { description: `Taken and without effect: ${why}`, [IN_EFFECT]: value };
}

/** Returns the members of a body that ask for something else than what holds here, such as `gpu.minRamPerGpu`. */
export function withoutEffect(schema: TSchema, body: unknown, prefix = ''): string[] {
  const { properties = {} } = schema as { properties?: Record<string, TSchema> };
  const given = (body ?? {}) as Record<string, unknown>;
  return Object.entries(properties).flatMap(([name, member]) => {
    const value = given[name];
    if (value === undefined) return [];
    if (Object.hasOwn(member, IN_EFFECT)) {
      const effective = (member as unknown as Record<string, unknown>)[IN_EFFECT];
      return JSON.stringify(value) === JSON.stringify(effective) ? [] : [prefix + name];
    }
    return withoutEffect(member, value, `${prefix}${name}.`);
  });
}
