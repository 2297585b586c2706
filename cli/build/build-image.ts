/** Builds an image from a folder, and pushes it or leaves it in the engine of this machine. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import type { Cli } from '../cli.ts';
import { UsageError } from '../failures.ts';
import { findEngine, runEngine } from './container-engine.ts';
import type { BuildPlan } from './containerfile.ts';
import { BASE_DEFAULT, planOf } from './containerfile.ts';

/** Options of the build. */
export interface BuildOptions {
  /** Repository to push to, without a tag. Absent: the image stays in the engine of this machine. */
  push?: string;
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
  { push, base = BASE_DEFAULT }: BuildOptions,
): Promise<string> {
  const { config, output } = cli;
  const path = resolve(config.workingDir, folder);
  const name = nameOfFolder(cli, folder);
  if (push === undefined && !NAME.test(name))
    throw new UsageError(`${JSON.stringify(name)} cannot name an image: rename the folder, or give --push REPOSITORY.`);
  if (push !== undefined && /[:@][^/]*$/.test(push))
    throw new UsageError('--push takes a repository without a tag, as registry.example/me/ocr.');
  const plan = planOf(path, base);
  const engine = await findEngine(cli);
  output.note(`Building ${folder} ${plan.about}, with ${engine}.`);
  const local = `localhost/${NAME.test(name) ? name : 'image'}:building`;
  await withContainerfile(plan, (file) =>
    runEngine(cli, engine, ['build', '--tag', local, '--file', file, path], { what: `building ${folder}` }),
  );
  const asked = ['image', 'inspect', '--format', '{{.Id}}', local];
  const id = (await runEngine(cli, engine, asked, { what: 'reading the image' })).trim().replace(/^sha256:/, '');
  const image = `${push ?? `localhost/${name}`}:${id.slice(0, ID_LENGTH)}`;
  await runEngine(cli, engine, ['tag', local, image], { what: `naming ${image}` });
  if (push === undefined) {
    output.note(`${image} is in ${engine} of this machine only. Machines elsewhere need --push REPOSITORY.`);
    return image;
  }
  await runEngine(cli, engine, ['push', image], { what: `pushing ${image}` });
  output.note(`Pushed ${image}.`);
  return image;
}

/** Calls `build` with the path of the folder's Containerfile, or of a temporary one. */
async function withContainerfile({ file, text }: BuildPlan, build: (file: string) => Promise<unknown>): Promise<void> {
  if (file !== undefined) {
    await build(file);
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), 'slipway-build-'));
  try {
    const made = join(folder, 'Containerfile');
    writeFileSync(made, text!);
    await build(made);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
