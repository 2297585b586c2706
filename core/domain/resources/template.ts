/** A template: what workers run. Its fields, defaults and bounds. */
import type { DomainError } from '../settings/errors.ts';
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
import { checkImageName } from './image-name.ts';

/** What its owner chooses. The contract says what each field means. */
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
}

/** A stored template. */
export interface Template extends TemplateSettings {
  id: string;
  accountId: string;
  /** Raised by every change of what is run of it, from 1. */
  version: number;
  /** The endpoint that alone runs it; null: it is for all. */
  boundEndpointId: string | null;
  createdAt: Date;
}

/** Sizes of disks in GB, which templates and pods have. */
export const DISK_RULE = { min: 0, max: 65_536 };

/**
 * The settings with their rules (docs/reference/management.md#templates). Without a default what is not given is 0 or
 * empty.
 */
export const TEMPLATE_SETTINGS: { readonly [Field in keyof TemplateSettings]: SettingRule<TemplateSettings[Field]> } = {
  name: { inPlace: true },
  imageName: {},
  startCommand: { default: [] },
  entrypoint: { default: [] },
  env: { default: {} },
  workingDirectory: {},
  containerDiskGb: { default: 50, ...DISK_RULE },
  // REST promises something else for these two, for templates of pods.
  volumeGb: { ...DISK_RULE, inPlace: true },
  ports: {},
  volumeMountPath: { default: '/workspace', inPlace: true },
  registryAuthId: {},
  public: { default: false, inPlace: true },
  serverless: { default: false, inPlace: true },
  readme: { default: '', inPlace: true },
  category: { default: 'NVIDIA', inPlace: true },
};

const COMMAND_PARTS_MAX = 1_000;
const README_LENGTH_MAX = 1_000_000;

/** What to run, as templates and pods have it. */
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

/** Fails with INVALID_REQUEST, naming the field, at the first fault. */
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
}

/** Fails with INVALID_REQUEST, naming the field, at the first fault. */
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

/** Whether going from one set of settings to another needs new workers (docs/reference/management.md#templates). */
export function templateReplacesWorkers(before: TemplateSettings, after: TemplateSettings): boolean {
  const fields = (Object.keys(TEMPLATE_SETTINGS) as (keyof TemplateSettings)[]).filter(
    (field) => !TEMPLATE_SETTINGS[field].inPlace,
  );
  return fields.some((field) => JSON.stringify(sorted(before[field])) !== JSON.stringify(sorted(after[field])));
}

function sorted(value: unknown): unknown {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? Object.entries(value).sort() : value;
}

/** The refusal of a template that the account may not use, where something else names it. */
export function unknownTemplate(id: string): DomainError {
  return invalid(`template_id: there is no template ${JSON.stringify(id.slice(0, 64))} in this account`);
}
