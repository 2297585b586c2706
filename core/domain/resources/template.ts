/** A template: the program of workers. Its fields, defaults and bounds. */
import { DomainError } from '../settings/errors.ts';
import type { SettingRule } from '../settings/fields.ts';
import {
  checkBounds,
  checkEnv,
  checkName,
  checkPath,
  checkProgramBytes,
  checkText,
  checkTexts,
  invalid,
} from '../settings/fields.ts';
import { checkExampleInput } from './example-input.ts';
import { checkImageName } from './image-name.ts';

/** Settings that the owner chooses. For the meaning of each field see the contract. */
export interface TemplateSettings {
  name: string;
  imageName: string;
  startCommand: string[];
  entrypoint: string[];
  env: Record<string, string>;
  workingDirectory: string;
  containerDiskGb: number;
  volumeGb: number;
  volumeMountPath: string;
  ports: string[];
  registryAuthId: string | null;
  serverless: boolean;
  public: boolean;
  readme: string;
  category: string;
  startSsh: boolean;
  startJupyter: boolean;
  exampleInput: string;
}

/** A stored template. */
export interface Template extends TemplateSettings {
  id: string;
  accountId: string;
  /** Version, from 1. Raised by every change of what workers run. */
  version: number;
  /** The only endpoint that runs it. Null: any endpoint may use it. */
  boundEndpointId: string | null;
  createdAt: Date;
}

/** Bounds of disk sizes of templates and pods, in GB. */
export const DISK_RULE = { min: 0, max: 65_536 };

/**
 * The settings with their rules (docs/reference/management.md#templates). A setting without a default is 0 or empty if
 * not given.
 */
export const TEMPLATE_SETTINGS: { readonly [Field in keyof TemplateSettings]: SettingRule<TemplateSettings[Field]> } = {
  name: { inPlace: true },
  imageName: {},
  startCommand: { default: [] },
  entrypoint: { default: [] },
  env: { default: {} },
  workingDirectory: {},
  containerDiskGb: { default: 50, ...DISK_RULE },
  // For these two, REST has other rules for pod templates.
  volumeGb: { ...DISK_RULE, inPlace: true },
  ports: {},
  volumeMountPath: { default: '/workspace', inPlace: true },
  registryAuthId: {},
  public: { default: false, inPlace: true },
  serverless: { default: false, inPlace: true },
  readme: { default: '', inPlace: true },
  category: { default: 'NVIDIA', inPlace: true },
  startSsh: { default: true, inPlace: true },
  startJupyter: { default: false, inPlace: true },
  exampleInput: { default: '', inPlace: true },
};

const COMMAND_PARTS_MAX = 1_000;
const README_LENGTH_MAX = 1_000_000;

/** Settings of the program to run, shared by templates and pods. */
export type Program = Pick<
  TemplateSettings,
  | 'imageName'
  | 'startCommand'
  | 'entrypoint'
  | 'env'
  | 'workingDirectory'
  | 'containerDiskGb'
  | 'volumeGb'
  | 'volumeMountPath'
  | 'ports'
>;

/** Throws INVALID_REQUEST with the field at the first invalid one. */
export function checkTemplate(template: TemplateSettings): void {
  checkName('name', template.name);
  if (template.imageName === '' && template.startCommand.length === 0) {
    throw invalid('a template needs image_name or start_command: what should its workers run?');
  }
  checkProgram(template);
  if (!['NVIDIA', 'AMD', 'CPU'].includes(template.category)) {
    throw invalid(`category is ${JSON.stringify(template.category.slice(0, 64))}, but must be NVIDIA, AMD or CPU`);
  }
  if (template.readme.length > README_LENGTH_MAX)
    throw invalid(`readme is longer than ${README_LENGTH_MAX} characters`);
  checkText('readme', template.readme);
  checkExampleInput(template.exampleInput);
}

/** Throws INVALID_REQUEST with the field at the first invalid one. */
export function checkProgram(program: Program): void {
  checkImageName('image_name', program.imageName);
  for (const [field, parts] of [
    ['start_command', program.startCommand],
    ['entrypoint', program.entrypoint],
  ] as const) {
    if (parts.length > COMMAND_PARTS_MAX)
      throw invalid(`${field} has ${parts.length} parts, but may have ${COMMAND_PARTS_MAX}`);
    for (const part of parts) checkText(field, part);
  }
  if (program.startCommand[0] === '') throw invalid('start_command names no program');
  checkEnv(program.env);
  checkPath('working_directory', program.workingDirectory);
  checkPath('volume_mount_path', program.volumeMountPath);
  if (/^\/+$/.test(program.volumeMountPath))
    throw invalid('volume_mount_path cannot be the root; give a path like /workspace');
  const { imageName, startCommand, entrypoint, env, workingDirectory, volumeMountPath } = program;
  checkProgramBytes('command and env', [imageName, startCommand, entrypoint, env, workingDirectory, volumeMountPath]);
  checkBounds(program, { containerDiskGb: DISK_RULE, volumeGb: DISK_RULE });
  checkTexts('ports', program.ports);
  for (const port of program.ports) {
    const number = /^(\d{1,5})\/(http|grpc|tcp|udp)$/.exec(port)?.[1];
    if (number === undefined || Number(number) < 1 || Number(number) > 65_535) {
      throw invalid(`ports: ${JSON.stringify(port)} is not like 8888/http, 50051/grpc or 22/tcp`);
    }
  }
}

/** Returns true if a change of settings replaces the workers (docs/reference/management.md#templates). */
export function templateReplacesWorkers(before: TemplateSettings, after: TemplateSettings): boolean {
  const fields = (Object.keys(TEMPLATE_SETTINGS) as (keyof TemplateSettings)[]).filter(
    (field) => !TEMPLATE_SETTINGS[field].inPlace,
  );
  return fields.some((field) => JSON.stringify(sorted(before[field])) !== JSON.stringify(sorted(after[field])));
}

function sorted(value: unknown): unknown {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? Object.entries(value).sort() : value;
}

/** Returns the error for a name that another template of the account has. */
export function templateNameTaken(name: string): DomainError {
  return new DomainError(
    'NAME_TAKEN',
    `The account already has a template called ${JSON.stringify(name)}; choose another name.`,
  );
}

/** Returns the error for another resource that names a template which the account may not use. */
export function unknownTemplate(id: string): DomainError {
  return invalid(`template_id: there is no template ${JSON.stringify(id.slice(0, 64))} in this account`);
}
