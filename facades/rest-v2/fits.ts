/**
 * Validates values against the schemas of REST v2 and reports each fault with the path of its member: `$.workers.max:
 * must be >= 0`.
 */
import AjvCompiler from '@fastify/ajv-compiler';
import type { TSchema } from 'typebox';
import { misfit } from './rejections.ts';

/** An error of ajv. */
interface Fault {
  keyword: string;
  instancePath: string;
  params: Record<string, unknown>;
  message?: string;
  parentSchema?: { oneOf?: { properties: Record<string, { enum?: string[]; const?: string }> }[] };
}

type Validate = ((value: unknown) => boolean) & { errors?: Fault[] | null };

const OPTIONS = {
  allErrors: true,
  verbose: true,
  coerceTypes: false,
  useDefaults: false,
  removeAdditional: false,
  discriminator: true,
  strict: false,
  validateSchema: false,
};
const compiled = new WeakMap<TSchema, Validate>();
let compile: ((route: { schema: TSchema }) => Validate) | undefined;

/** Throws 422 with all faults if the value does not match the schema. `root`: prefix of the member paths. */
export function checkFits(schema: TSchema, value: unknown, root = '$'): void {
  const validate = compiledOf(schema);
  if (!validate(value)) throw misfit([...new Set((validate.errors ?? []).map((fault) => faultText(fault, root)))]);
}

/** Compiles a schema on first use and caches it. Compilation takes most of the start time of a surface. */
function compiledOf(schema: TSchema): Validate {
  const known = compiled.get(schema);
  if (known) return known;
  compile ??= (AjvCompiler as unknown as () => (external: object, options: object) => typeof compile)()(
    {},
    { customOptions: OPTIONS },
  )!;
  const validate = compile({ schema });
  compiled.set(schema, validate);
  return validate;
}

function faultText({ keyword, instancePath, params, message, parentSchema }: Fault, root: string): string {
  const way = instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const at = way.reduce(
    (text, part) => (/^\d+$/.test(part) ? `${text}[${part}]` : `${text}.${part.slice(0, 64)}`),
    root,
  );
  switch (keyword) {
    case 'additionalProperties':
      return `${at}: additional properties ${quoted(params['additionalProperty'])} not allowed`;
    case 'required':
      return `${at}: missing property ${quoted(params['missingProperty'])}`;
    case 'enum':
      return (
        `${at}: must be one of ` +
        `${(params['allowedValues'] as unknown[]).filter((word) => word !== null).join(', ')}`
      );
    case 'discriminator': {
      const tag = String(params['tag']);
      const words =
        parentSchema?.oneOf?.flatMap(({ properties }) => properties[tag]?.enum ?? [properties[tag]?.const ?? '']) ?? [];
      return `${at}.${tag}: must be one of ${words.join(', ')}`;
    }
    default:
      return `${at}: ${message ?? 'does not fit'}`;
  }
}

function quoted(name: unknown): string {
  return `'${String(name).slice(0, 64)}'`;
}
