/** Builds an image from a folder, and pushes it or leaves it in the engine that built it. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { Cli } from '../cli.ts';
import { UsageError } from '../failures.ts';
import { findEngine, runEngine } from './container-engine.ts';
import type { BuildPlan } from './containerfile.ts';
import { BASE_DEFAULT, planOf } from './containerfile.ts';
import { findBuildMachine, isMachineName, untilReported } from './machine-engine.ts';

/** Options of the build. */
export interface BuildOptions {
  /** Repository to push to, without a tag. Absent: the image stays in the engine that built it. */
  push?: string;
  /** Machine that builds: its name or id, or the address of its engine. Absent: this machine. */
  on?: string;
  /** Image that a handler without a Containerfile is added to. */
  base?: string;
}

const ID_LENGTH = 12;
const NAME = /^[a-z0-9]+(?:[._-]+[a-z0-9]+)*$/;

/** Returns whether a word names a folder, which no command can be. */
export function isFolder(cli: Cli, word: string | undefined): word is string {
  if (word === undefined) return false;
  return statSync(resolve(cli.config.workingDir, word), { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Returns whether a word is written as a relative path, which names nothing in an image. */
export function isPath(word: string): boolean {
  return /^\.{1,2}(\/|$)/.test(word);
}

/** Returns whether a path leads to a file or folder. */
export function isThere(cli: Cli, path: string): boolean {
  return statSync(resolve(cli.config.workingDir, path), { throwIfNoEntry: false }) !== undefined;
}

/** Returns the name of an endpoint for a folder. */
export function nameOfFolder(cli: Cli, folder: string): string {
  return basename(resolve(cli.config.workingDir, folder)).toLowerCase();
}

/**
 * Builds and returns the name of the image. Its tag is made of its contents: an unchanged folder gives the same name,
 * which replaces no worker.
 */
export async function buildImage(
  cli: Cli,
  folder: string,
  { push, on, base = BASE_DEFAULT, type }: BuildOptions & { type: EndpointType },
): Promise<string> {
  const { config, output } = cli;
  const path = resolve(config.workingDir, folder);
  const name = nameOfFolder(cli, folder);
  if (push === undefined && !NAME.test(name))
    throw new UsageError(`${JSON.stringify(name)} cannot name an image: rename the folder, or give --push REPOSITORY.`);
  if (push !== undefined && /[:@][^/]*$/.test(push))
    throw new UsageError('--push takes a repository without a tag, as registry.example/me/ocr.');
  const plan = planOf(path, base, type === EndpointType.LB ? type : EndpointType.QB);
  const machine = on !== undefined && isMachineName(on) ? await findBuildMachine(cli, on) : undefined;
  const engine = await findEngine(cli, machine ? machine.address : on, machine?.program);
  output.note(`Building ${folder} ${plan.about}, with ${engine.where}.`);
  const built = await withFiles(plan, (file, idFile) =>
    runEngine(cli, engine, ['build', '--iidfile', idFile, '--file', file, path], { what: `building ${folder}` }),
  );
  const id = built.replace(/^sha256:/, '');
  const image = `${push ?? `localhost/${name}`}:${id.slice(0, ID_LENGTH)}`;
  await runEngine(cli, engine, ['tag', id, image], { what: `naming ${image}` });
  if (push === undefined) {
    output.note(`${image} is in ${engine.where} only. Machines elsewhere need --push REPOSITORY.`);
    if (machine && !(await untilReported(cli, machine, image)))
      output.note(`${machine.name} does not report it yet: a first worker may fail on another machine.`);
    return image;
  }
  await runEngine(cli, engine, ['push', image], { what: `pushing ${image}` });
  output.note(`Pushed ${image}.`);
  return image;
}

/**
 * Calls `build` with the path of the folder's Containerfile, or of a temporary one, and of the file for the image's id.
 * Returns the id. A name would be that of another build too, of a folder of the same name at the same time.
 */
async function withFiles(
  { file, text }: BuildPlan,
  build: (file: string, idFile: string) => Promise<unknown>,
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'slipway-build-'));
  try {
    const made = join(folder, 'Containerfile');
    if (file === undefined) writeFileSync(made, text!);
    const idFile = join(folder, 'id');
    await build(file ?? made, idFile);
    return readFileSync(idFile, 'utf8').trim();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
