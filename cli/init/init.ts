/** `slipway init`: a folder with a handler and everything around it. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { Argument } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { UsageError } from '../failures.ts';
import { filesOf } from './files.ts';

interface InitOptions {
  name?: string;
}

const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;

/** Adds the command. */
export function addInit(program: Command, cli: Cli): void {
  addCommand(program, {
    usage: 'init',
    description:
      'Make a folder with a handler in Python, a test input, a Containerfile, and a file for slipway apply. Files ' +
      'that are there are never overwritten.',
    examples: ['init my-endpoint', 'init . --name ocr'],
  })
    .addArgument(new Argument('<folder>', 'a new or empty folder'))
    .option('--name <name>', 'name of endpoint and image; default: name of the folder')
    .action((folder: string, options: InitOptions) => init(cli, folder, options));
}

function init({ config, output }: Cli, folder: string, options: InitOptions): void {
  const path = resolve(config.workingDir, folder);
  const name = options.name ?? basename(path).toLowerCase();
  if (!NAME.test(name))
    throw new UsageError(`${JSON.stringify(name)} cannot name an image: give --name with a-z, 0-9, dots and hyphens.`);
  const made = Object.entries(filesOf(name)).map(([file, text]) => write(join(path, file), text, path));
  output.result({ folder: path, name, files: made }, () => {
    for (const file of made) output.line(file);
    output.note(`Next: npm start -- --handler ${join(folder, 'handler.py')}, or see ${join(folder, 'README.md')}.`);
  });
}

function write(file: string, text: string, folder: string): string {
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, text, { flag: 'wx' });
    return file;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(
      code === 'EEXIST' ? `${file} exists already; name another folder.` : `${file} cannot be written (${code}).`,
    );
  }
}
