/** The image of the first process of each Pod, made without a registry or an engine. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const PAUSE_IMAGE = 'localhost/slipway-pause:1';

/** Writes the image as an archive that `ctr images import` reads. `folder`: a new folder for it. Returns its path. */
export function writePauseImage(folder: string, program: string): string {
  const path = (name: string): string => join(folder, name);
  mkdirSync(folder);
  const tar = (...args: string[]): void => void execFileSync('tar', ['--create', ...args], { stdio: 'pipe' });
  tar('--file', path('layer.tar'), '--transform=s,.*,pause,', '--directory=/', program.slice(1));
  const config = {
    architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
    os: 'linux',
    config: { Entrypoint: ['/pause'] },
    rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(readFileSync(path('layer.tar')))}`] },
  };
  writeFileSync(path('config.json'), JSON.stringify(config));
  const manifest = [{ Config: 'config.json', RepoTags: [PAUSE_IMAGE], Layers: ['layer.tar'] }];
  writeFileSync(path('manifest.json'), JSON.stringify(manifest));
  tar('--file', path('image.tar'), '--directory', folder, 'manifest.json', 'config.json', 'layer.tar');
  return path('image.tar');
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
