/** Reads the files of `slipway apply`: YAML or JSON, one file, a folder, or stdin. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { Cli } from '../cli.ts';
import { UsageError } from '../failures.ts';
import { readStdin } from '../read-stdin.ts';
import { faultsOf, isRecord } from './check-values.ts';
import type { Section } from './sections.ts';
import { SECTIONS, WORDS } from './sections.ts';

/** One resource as a file wants it. */
export interface Entry {
  values: Readonly<Record<string, unknown>>;
  /** Where it stands, for people. */
  file: string;
  /** Folder to which files that it names are relative. */
  folder: string;
}

/** All that is wanted. */
export interface Desired {
  owner: string | undefined;
  entries: Record<Section, Map<string, Entry>>;
}

interface Source {
  name: string;
  folder: string;
  text: string;
}

const SIZE_MAX = 4 * 1024 * 1024;
const FAULTS_SHOWN = 20;

/** Reads all files. Throws UsageError with all faults. */
export async function readDesired(cli: Cli, files: readonly string[]): Promise<Desired> {
  const sources = (await Promise.all(files.map((file) => sourcesOf(cli, file)))).flat();
  const faults: string[] = [];
  const wanted: Desired = {
    owner: undefined,
    entries: {
      secrets: new Map(),
      registryAuths: new Map(),
      networkVolumes: new Map(),
      templates: new Map(),
      endpoints: new Map(),
    },
  };
  for (const source of sources)
    for (const value of documentsOf(source, faults)) {
      const found = faultsOf(value);
      faults.push(...found.map((fault) => `${source.name}: ${fault}`));
      if (found.length === 0) faults.push(...merge(wanted, value as Record<string, unknown>, source));
    }
  if (faults.length === 0) return wanted;
  const shown = faults.slice(0, FAULTS_SHOWN);
  const more = faults.length > shown.length ? `\n… and ${faults.length - shown.length} more` : '';
  throw new UsageError(
    `Nothing was changed.\n${shown.join('\n')}${more}\nThe allowed settings: slipway apply --schema`,
  );
}

async function sourcesOf(cli: Cli, file: string): Promise<Source[]> {
  const { workingDir } = cli.config;
  if (file === '-') return [{ name: 'stdin', folder: workingDir, text: (await readStdin(cli)).toString() }];
  const path = resolve(workingDir, file);
  try {
    if (!statSync(path).isDirectory()) return [sourceOf(path, workingDir)];
    const names = readdirSync(path).filter((name) => /\.ya?ml$/.test(name));
    if (names.length === 0) throw new UsageError(`${file} has no files named *.yaml.`);
    return names.toSorted().map((name) => sourceOf(join(path, name), workingDir));
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}

function sourceOf(path: string, workingDir: string): Source {
  if (statSync(path).size > SIZE_MAX) throw new UsageError(`${path} is larger than ${SIZE_MAX / 1024 / 1024} MiB.`);
  return { name: relative(workingDir, path) || path, folder: dirname(path), text: readFileSync(path, 'utf8') };
}

/** Returns the documents of a file. JSON is YAML. */
function documentsOf({ name, text }: Source, faults: string[]): unknown[] {
  const documents = parseAllDocuments(text, { prettyErrors: true });
  if (!Array.isArray(documents)) return [];
  return documents.flatMap((document) => {
    const [error] = document.errors;
    if (!error) return [document.toJS({ maxAliasCount: 100 }) as unknown].filter((value) => value !== null);
    faults.push(`${name}: ${error.message}`);
    return [];
  });
}

/** Adds the entries of a document. Returns faults. */
function merge(wanted: Desired, value: Record<string, unknown>, { name: file, folder }: Source): string[] {
  const { entries, owner } = wanted;
  const { owner: given = owner } = value as { owner?: string };
  wanted.owner = given;
  const faults = SECTIONS.flatMap((section) => {
    const settings = value[section];
    if (!isRecord(settings)) return [];
    return Object.entries(settings).flatMap(([name, values]) => {
      const before = entries[section].get(name);
      entries[section].set(name, { values: isRecord(values) ? values : {}, file, folder });
      return before ? [`${file}: the ${WORDS[section]} ${JSON.stringify(name)} stands in ${before.file} too`] : [];
    });
  });
  const isOther = owner !== undefined && given !== owner;
  return isOther ? [...faults, `${file}: owner is ${given}, but ${owner} before: apply one owner at a time`] : faults;
}
