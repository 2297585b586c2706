/** Reads limits from the source, exported or not: the generated page needs no export of its own. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../../..');
/** Digits, operators and names of other constants. */
const EXPRESSION = String.raw`([\w *+\-/.()]+?)`;
/** A constant, a member of a table, or a setting's default. */
const FORMS = [
  (name: string) => new RegExp(String.raw`^(?:export )?const ${name}(?:: [^=\n]+)? = ${EXPRESSION};`, 'm'),
  (name: string) => new RegExp(String.raw`\b${name}: ${EXPRESSION}(?:,| \})`),
  (name: string) => new RegExp(`'${name}', ${EXPRESSION},`),
];

/** Returns the value of a constant in a file, with the constants that it is made of. */
export function constant(file: string, name: string): number {
  const text = readFileSync(join(root, file), 'utf8');
  const expression = FORMS.map((form) => form(name).exec(text)?.[1]).find((found) => found !== undefined);
  if (expression === undefined) throw new Error(`${file} has no ${name}: test/docs/pages/limits.ts names it`);
  const numbers = expression.replace(/\b[A-Z][A-Z0-9_]*\b/g, (part) =>
    String(constant(fileOf(part, text, file), part)),
  );
  if (!/^[\d_ *+\-/.()]+$/.test(numbers)) throw new Error(`${name} of ${file} is no number: ${expression}`);
  return Number(new Function(`return ${numbers}`)());
}

/** Returns the file that a name comes from: an import, or the file itself. */
function fileOf(name: string, text: string, file: string): string {
  const from = new RegExp(String.raw`import \{[^}]*\b${name}\b[^}]*\} from '([^']+)'`).exec(text)?.[1];
  return from === undefined ? file : join(file, '..', from);
}

/** Returns a limit as people write it, by the unit that its name ends with. */
export function withUnit(name: string, value: number): string {
  if (/BYTES|[bB]ytesMax/.test(name))
    return scaled(
      value,
      [
        ['MiB', 2 ** 20],
        ['KiB', 2 ** 10],
      ],
      'bytes',
    );
  if (/_MIB$/.test(name)) return `${plain(value)} MiB`;
  if (/_MS(_|$)|Ms$/.test(name))
    return scaled(
      value,
      [
        ['d', 86_400_000],
        ['h', 3_600_000],
        ['min', 60_000],
        ['s', 100],
      ],
      'ms',
    );
  if (/_SECONDS/.test(name)) return `${plain(value)} s`;
  if (/_MINUTES/.test(name)) return `${plain(value)} min`;
  if (/_HOURS/.test(name)) return `${plain(value)} h`;
  if (/_DAYS/.test(name)) return `${plain(value)} d`;
  return plain(value);
}

function scaled(value: number, units: readonly [string, number][], rest: string): string {
  const [unit, size] = units.find(([, step]) => value >= step && value % step === 0) ?? [rest, 1];
  return `${plain(unit === 's' ? value / 1_000 : value / size)} ${unit}`;
}

function plain(value: number): string {
  return value.toLocaleString('en-US');
}
