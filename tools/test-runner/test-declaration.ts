/**
 * Reads what a test file declares about itself in one line above its imports, such as `// test: alone, postgres, 40 s`.
 * README.md in this folder lists the words and their effects.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Parts from outside npm's packages that the runner makes or starts for files that declare them. */
export const TEST_NEEDS = [
  'postgres',
  'python',
  'envoy',
  'grpcurl',
  'schemathesis',
  'openai',
  'huggingface',
  'runpod-two',
  'llm-clients',
  'dstack',
  'mcp',
  'podman-compose',
  'patroni',
  's3',
  'kubernetes',
  'kubernetes-node',
] as const;
export type TestNeed = (typeof TEST_NEEDS)[number];

/** Declaration of one test file. A file without the line shares its process, needs nothing and is short. */
interface TestDeclaration {
  /** The file changes or measures its own process, so it must not share it with other files. */
  alone: boolean;
  needs: ReadonlySet<TestNeed>;
  /** Rough time of the file in a full run, in seconds; 0 for short files. Long files start first. */
  seconds: number;
}

/** A declaration that cannot be read. The message names the file and says what to do. */
export class DeclarationError extends Error {}

/** Blank lines and comments up to the first statement. */
const HEAD = /^(?:\s+|\/\/.*|\/\*[^]*?\*\/)*/;
const LINE = /^\/\/ test:(.*)$/gm;
const SECONDS = /^(\d+) s$/;

/** Parses the head of a test file. Throws DeclarationError if a word is unknown or repeated. */
export function parseDeclaration(file: string, text: string): TestDeclaration {
  const lines = [...HEAD.exec(text)![0].matchAll(LINE)];
  if ([...text.matchAll(LINE)].length > lines.length)
    throw new DeclarationError(`${file}: "// test:" stands below the first statement; move it to the top`);
  if (lines.length > 1)
    throw new DeclarationError(`${file}: "// test:" stands there ${lines.length} times; write one line`);
  const declaration = { alone: false, needs: new Set<TestNeed>(), seconds: 0 };
  const seen = new Set<string>();
  for (const word of lines[0]?.[1]!.split(',').map((each) => each.trim()) ?? []) {
    const seconds = SECONDS.exec(word)?.[1];
    const kind = seconds === undefined ? word : 'seconds';
    if (seen.has(kind)) throw new DeclarationError(`${file}: "// test:" says "${word}" twice`);
    seen.add(kind);
    if (seconds !== undefined) declaration.seconds = Number(seconds);
    else if (word === 'alone') declaration.alone = true;
    else if (isNeed(word)) declaration.needs.add(word);
    else
      throw new DeclarationError(
        `${file}: "// test:" has the unknown word "${word}"; known are alone, ${TEST_NEEDS.join(', ')} and ` +
          'a time like 40 s',
      );
  }
  return declaration;
}

function isNeed(word: string): word is TestNeed {
  return (TEST_NEEDS as readonly string[]).includes(word);
}

/** Reads the declaration of a test file. `file`: relative to `root`, or absolute. */
export function readDeclaration(root: string, file: string): TestDeclaration {
  return parseDeclaration(file, readFileSync(file.startsWith('/') ? file : join(root, file), 'utf8'));
}

/** Returns the needs of all these files together. */
export function needsOf(root: string, files: readonly string[]): Set<TestNeed> {
  return new Set(files.flatMap((file) => [...readDeclaration(root, file).needs]));
}
