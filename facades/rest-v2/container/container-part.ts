/** The container of endpoints, templates and pods in REST v2: the same members in each of them. */

import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import type { Static, TObject, TProperties } from 'typebox';
import { Type } from 'typebox';
import { commandText, dockerArgsOf } from '../../resources/command-line.ts';
import { usableEnv } from '../../resources/env-names.ts';
import { PORT_PATTERN } from '../../resources/port.ts';
import { TEMPLATE } from '../../resources/templates/template-table.ts';
import { textMap } from '../../resources/text-map.ts';
import { against } from '../rejections.ts';
import { textOrNull } from '../schema-parts.ts';

const COMMAND_PARTS_MAX = 1_000;
const COMMAND_PART_LENGTH_MAX = 131_072;
const PORTS_MAX = 100;
const ID_LENGTH_MAX = 191;
const { containerDiskGb, imageName } = TEMPLATE;

const words = (description: string) =>
  Type.Array(Type.String({ maxLength: COMMAND_PART_LENGTH_MAX }), { maxItems: COMMAND_PARTS_MAX, description });

/** Members of every response. */
const ANSWERED = {
  image: Type.String({
    maxLength: imageName.kind.max,
    description: 'Container image. Empty: the command runs on the host, on machines whose operator allows that.',
  }),
  args: Type.String({
    maxLength: COMMAND_PART_LENGTH_MAX,
    description:
      'Command as one text, which is split as a shell splits it, or {"entrypoint":[…],"cmd":[…]} as ' +
      'text. Same meaning as cmd and entrypoint.',
  }),
  cmd: words('Command line, one word an entry.'),
  entrypoint: words('Replaces the entry point of the image. Empty: value of the image.'),
  disk: Type.Integer({ minimum: 1, maximum: containerDiskGb.rule.max, description: 'Disk of the container in GB.' }),
  env: textMap('Environment.'),
  ports: Type.Array(Type.String({ pattern: PORT_PATTERN }), {
    maxItems: PORTS_MAX,
    description: 'Exposed ports, as 8888/http.',
  }),
  registry: textOrNull('Id of the credentials for the registry of the image. Null: none.', {
    maxLength: ID_LENGTH_MAX,
  }),
};

/** Members of responses. Resources that other surfaces created may have values that no body accepts. */
export const containerAnswer = {
  ...ANSWERED,
  disk: Type.Integer({ description: 'Disk of the container in GB.' }),
  ports: Type.Array(Type.String(), { description: 'Exposed ports.' }),
};

/** Members of bodies, none of them required. */
export const containerBody = optionals(ANSWERED);
type ContainerBody = Static<TObject<typeof containerBody>>;

/** Contract fields that the part consists of. */
type Container = Pick<
  Template,
  'imageName' | 'startCommand' | 'entrypoint' | 'containerDiskGb' | 'env' | 'ports' | 'registryAuthId'
>;

/**
 * Returns the fields that a body names; the others are undefined. 400: args, cmd and entrypoint disagree, or args has a
 * quote that is not closed.
 */
export function containerFields(body: ContainerBody): { [Name in keyof Container]: Container[Name] | undefined } {
  return {
    imageName: body.image,
    ...commandFields(body),
    containerDiskGb: body.disk,
    env: usableEnv(body.env),
    ports: body.ports,
    registryAuthId: body.registry === undefined ? undefined : (body.registry ?? ''),
  };
}

function commandFields({
  args,
  cmd,
  entrypoint,
}: ContainerBody): Record<'startCommand' | 'entrypoint', string[] | undefined> {
  if (args === undefined) return { startCommand: cmd, entrypoint };
  const parsed = dockerArgsOf(args, 'args');
  const whole = { startCommand: parsed.startCommand, entrypoint: parsed.entrypoint ?? [] };
  if (cmd && !areSame(cmd, whole.startCommand))
    throw against('args and cmd are two ways to say the same, and do not: give one of them.');
  if (entrypoint && !areSame(entrypoint, whole.entrypoint))
    throw against('args and entrypoint are two ways to say the same, and do not: give one of them.');
  return whole;
}

/** Returns the members of a response. */
export function presentContainer({
  imageName: image,
  startCommand,
  entrypoint,
  containerDiskGb: disk,
  env,
  ports,
  registryAuthId,
}: Container) {
  const args = entrypoint.length > 0 ? JSON.stringify({ entrypoint, cmd: startCommand }) : commandText(startCommand);
  return { image, args, cmd: startCommand, entrypoint, disk, env, ports, registry: registryAuthId || null };
}

/** Returns the same members, none of them required. */
export function optionals<Members extends TProperties>(
  members: Members,
): { [Name in keyof Members]: ReturnType<typeof Type.Optional<Members[Name]>> } {
  return Object.fromEntries(Object.entries(members).map(([name, schema]) => [name, Type.Optional(schema)])) as never;
}

function areSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((word, at) => word === b[at]);
}
