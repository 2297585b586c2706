// test: alone, 10 s
/**
 * The scan takes exactly what JSON.parse takes, finds the same members, and is linear: held against JSON.parse on
 * made-up and spoilt texts.
 */
import { isUtf8 } from 'node:buffer';
import { JsonScan, scanJson } from '@slipway/kit/bytes/json-scan';
import { workNow } from '@slipway/kit/bytes/sliced-work';
import t from 'tap';
import { seededRandom } from '../../helpers/time/seeded-random.ts';

const NAMES = ['input', 'a', 'policy', 'i'];

type Pick = (max: number) => number;
const any = <Item>(pick: Pick, items: readonly Item[]): Item => items[pick(items.length)]!;

const BLANKS = ['', '', '', ' ', '\n', '\t \r'];
const NUMBERS = ['0', '-0', '1', '12345678901234567890', '-1.5', '0.0', '1e5', '1E+05', '-0.1e-9', '10.250'];
const TEXTS = [
  '',
  'a',
  'input',
  '\\u0069nput',
  'inpu\\u0074',
  '\\u0061',
  'é',
  '漢🦊',
  '\\n\\"\\\\\\/',
  '\\ud800',
  '\\ud83e\\udd8a',
  '\u007f\u2028',
  'policy',
  '__proto__',
];

function text(pick: Pick, depth: number): string {
  const blank = (): string => any(pick, BLANKS);
  const list = (one: () => string): string =>
    Array.from({ length: pick(4) }, () => `${blank()}${one()}${blank()}`).join(',') || blank();
  const kind = depth > 5 ? pick(5) : pick(8);
  if (kind < 2) return any(pick, NUMBERS);
  if (kind < 4) return `"${any(pick, TEXTS)}${any(pick, TEXTS)}"`;
  if (kind === 4) return any(pick, ['true', 'false', 'null']);
  if (kind === 5) return `[${list(() => text(pick, depth + 1))}]`;
  return `{${list(() => `"${any(pick, TEXTS)}"${blank()}:${blank()}${text(pick, depth + 1)}`)}}`;
}

const SPOILERS = [...'{}[],:"\\0-+.eEtn u', '\u0000', '\u001f', 'NaN', 'tru', '\\u12', '\ufeff']
  .map((each) => Buffer.from(each))
  .concat([Buffer.from([0xff]), Buffer.from([0xc3]), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from([0x80])]);

/** Returns the text with a piece of it gone, or something put in. */
function spoil(pick: Pick, whole: Buffer): Buffer {
  const at = pick(whole.length + 1);
  const put = pick(3) === 0 ? Buffer.alloc(0) : any(pick, SPOILERS);
  return Buffer.concat([whole.subarray(0, at), put, whole.subarray(at + pick(3))]);
}

function scanned(bytes: Buffer, step: number): JsonScan {
  const scan = new JsonScan(bytes, NAMES);
  while (!scan.step(step));
  return scan;
}

function parsed(bytes: Buffer): { value: unknown } | undefined {
  if (!isUtf8(bytes)) return undefined;
  try {
    return { value: JSON.parse(bytes.toString()) as unknown };
  } catch {
    return undefined;
  }
}

/** Returns the depth of a value, and how many values it has. */
function measure(value: unknown): { depth: number; values: number } {
  if (typeof value !== 'object' || value === null) return { depth: 0, values: 1 };
  const inner = Object.values(value).map(measure);
  return {
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
    values: inner.reduce((sum, { values }) => sum + values, 1),
  };
}

function fault(bytes: Buffer, step: number): string | undefined {
  const scan = scanned(bytes, step);
  const real = parsed(bytes);
  if ((scan.fault === undefined) !== (real !== undefined)) return `scan says ${JSON.stringify(scan.fault)}`;
  if (!real) return undefined;
  const isObject = typeof real.value === 'object' && real.value !== null && !Array.isArray(real.value);
  if (isObject !== (scan.kind === 'object')) return `kind is ${scan.kind}`;
  if (Array.isArray(real.value) !== (scan.kind === 'array')) return `kind is ${scan.kind}`;
  if (Array.isArray(real.value) && scan.items !== real.value.length) return `items: ${scan.items}`;
  for (const name of NAMES) {
    const member = scan.member(name);
    const own =
      isObject && Object.hasOwn(real.value as object, name)
        ? JSON.stringify((real.value as Record<string, unknown>)[name])
        : undefined;
    if (own !== (member && JSON.stringify(JSON.parse(member.toString())))) return `member ${name} is ${String(member)}`;
    if (member && member.toString().trim() !== member.toString()) return `member ${name} has blanks`;
  }
  // A repeated name counts for the scan every time: only texts without any can be compared.
  const { depth, values } = measure(real.value);
  return scan.depth < depth || scan.values < values ? `depth ${scan.depth}, values ${scan.values}` : undefined;
}

t.test('it agrees with JSON.parse, for any steps', async (t) => {
  const pick = seededRandom().below;
  let good = 0;
  for (let round = 0; round < 30_000; round += 1) {
    const whole = Buffer.from(`${any(pick, BLANKS)}${text(pick, 0)}${any(pick, BLANKS)}`);
    const bytes = pick(2) === 0 ? whole : spoil(pick, whole);
    const step = any(pick, [1, 2, 3, 7, 1_000]);
    const wrong = fault(bytes, step);
    if (wrong !== undefined) return t.fail(`${wrong} in steps of ${step}: ${JSON.stringify(bytes.toString('latin1'))}`);
    good += Number(parsed(bytes) !== undefined);
  }
  t.ok(good > 10_000 && good < 25_000, `${good} of 30,000 were JSON`);
});

t.test('depth, kinds and positions of faults', async (t) => {
  const depth = (json: string): number => scanned(Buffer.from(json), 5).depth;
  t.equal(depth('1'), 0);
  t.equal(depth('[[],{"a":{}}]'), 3);
  for (const levels of [31, 32, 33, 64, 65, 1_000]) {
    const mixed = `${'[{"a":'.repeat(levels)}1${'}]'.repeat(levels)}`;
    t.equal(depth(mixed), 2 * levels);
    t.ok(scanned(Buffer.from(mixed.replace('}', ']')), 9).fault, 'a bracket that does not fit');
  }
  t.same(scanned(Buffer.from('{"a":NaN}'), 3).fault, { kind: 'syntax', at: 5 });
  t.same(scanned(Buffer.from('{"a":1'), 3).fault, { kind: 'syntax', at: 6 });
  t.equal(scanned(Buffer.from([0x22, 0xff, 0x22]), 3).fault?.kind, 'utf8');
  t.same(scanned(Buffer.alloc(0), 3).fault, { kind: 'syntax', at: 0 });
});

t.test('the last of a repeated name counts, whatever its spelling', async (t) => {
  const find = (json: string): string => String(scanned(Buffer.from(json), 4).member('input'));
  t.equal(find('{"input":1,"input": {"b" : 2} }'), '{"b" : 2}');
  t.equal(find('{"input":1,"\\u0069n\\u0070ut":[2]}'), '[2]');
  t.equal(find('{"x":{"input":1}}'), 'undefined');
  t.equal(find('["input",{"input":1}]'), 'undefined');
});

t.test('no shape costs more than its bytes', async (t) => {
  const million = 1_000_000;
  const shapes: Record<string, string> = {
    plain: `"${'x'.repeat(10 * million)}"`,
    'numbers as keys': `{${Array.from({ length: 900_000 }, (_, i) => `"${i}":1`).join(',')}}`,
    'words as keys': `{${Array.from({ length: 700_000 }, (_, i) => `"k${i.toString(36)}":1`).join(',')}}`,
    elements: `[${'1,'.repeat(5 * million)}1]`,
    'open brackets': '['.repeat(10 * million),
    nested: `${'['.repeat(5 * million)}${']'.repeat(5 * million)}`,
    escapes: `"${'\\u0041'.repeat(1_600_000)}"`,
    digits: '1'.repeat(10 * million),
    blanks: `${' '.repeat(10 * million)}1`,
    'one name again and again': `{${'"input":1,'.repeat(million)}"input":{}}`,
    'names of escapes': `{${'"\\u0069nputs":1,'.repeat(600_000)}"a":1}`,
  };
  for (const [name, json] of Object.entries(shapes)) {
    const bytes = Buffer.from(json);
    const before = process.cpuUsage();
    workNow(scanJson(bytes, NAMES));
    const { user } = process.cpuUsage(before);
    // Some 15 to 40 ns a byte when nothing else runs; JSON.parse takes up to 170, and its time is one piece.
    t.ok(user / 1_000 < 2_000, `${name}: ${Math.round(user / 1_000)} ms`);
  }
});
