/**
 * Compiles a route's request validators and response serializers when the route is first used. Compiling all of them
 * takes most of a facade's start time, and most routes of most facades are never called.
 */
import AjvCompiler from '@fastify/ajv-compiler';
import SerializerSelector from '@fastify/fast-json-stringify-compiler';
import type { FastifyServerOptions } from 'fastify';

type Factories = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>;
type Validate = ((data: unknown) => unknown) & { errors?: unknown };

/** Returns Fastify's own compilers, called on first use, for Fastify's option `schemaController`. */
export function lazySchemas(): { compilersFactory: Factories } {
  const validators = AjvCompiler() as (...given: unknown[]) => (route: unknown) => Validate;
  const writers = SerializerSelector() as (...given: unknown[]) => (route: unknown) => (data: unknown) => string;
  const buildValidator = (...given: unknown[]) => {
    let compile: ((route: unknown) => Validate) | undefined;
    return (route: unknown): Validate => {
      let validate: Validate | undefined;
      const check: Validate = (data) => {
        validate ??= (compile ??= validators(...given))(route);
        const answer = validate(data);
        check.errors = validate.errors;
        return answer;
      };
      return check;
    };
  };
  const buildSerializer = (...given: unknown[]) => {
    let compile: ((route: unknown) => (data: unknown) => string) | undefined;
    return (route: unknown) => {
      let write: ((data: unknown) => string) | undefined;
      return (data: unknown): string => (write ??= (compile ??= writers(...given))(route))(data);
    };
  };
  return { compilersFactory: { buildValidator, buildSerializer } as unknown as Factories };
}
