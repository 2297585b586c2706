/**
 * The raw JSON scanner against JSON.parse: on any JSON, on JSON with bytes put in and taken out, and on any bytes,
 * however it is stepped.
 */
import { isUtf8 } from 'node:buffer';
import { JsonScan } from '@slipway/kit/bytes/json-scan';
import fc from 'fast-check';
import t from 'tap';
import { SEED } from '../../helpers/time/seeded-random.ts';

const NAMES = ['input', 'a', 'policy'];
const RUNS = { seed: SEED, numRuns: 3_000 };

/** JSON with the blanks, names and escapes that a scanner may stumble over. */
const anyJson: fc.Arbitrary<string> = fc.oneof(
  fc.json({ maxDepth: 5 }),
  fc
    .tuple(fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' }), fc.constantFrom(0, 1, 4, '\t', '\r\n '))
    .map(([value, gap]) => JSON.stringify(value, undefined, gap)),
  fc
    .dictionary(fc.constantFrom(...NAMES, '', 'b', '__proto__', 'inpu'), fc.jsonValue({ maxDepth: 2 }))
    .map((value) => ` ${JSON.stringify(value)}\n`),
  // Any character as an escape.
  fc.string({ unit: 'binary' }).map((text) => `"${escaped(text)}"`),
  fc.double().map((value) => value.toExponential().replace('Infinity', '0').replace('NaN', '0')),
);

function escaped(text: string): string {
  return Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join(
    '',
  );
}

const someBytes = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 3 }).map((bytes) => Buffer.from(bytes)),
  fc
    .constantFrom('{', '}', '[', ']', ',', ':', '"', '\\', '\\u', '0', '-', '.', 'e', 'null', ' ', '\u0000')
    .map((text) => Buffer.from(text)),
);

/** Cuts some bytes out of it and puts others in. */
const spoilt = fc.tuple(anyJson, fc.nat(), fc.nat({ max: 3 }), fc.option(someBytes)).map(([text, at, cut, put]) => {
  const bytes = Buffer.from(text);
  const from = at % (bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, from), put ?? Buffer.alloc(0), bytes.subarray(from + cut)]);
});

const step = fc.constantFrom(1, 2, 3, 7, 64, 100_000);

function parsed(bytes: Buffer): { value: unknown } | undefined {
  if (!isUtf8(bytes)) return undefined;
  try {
    return { value: JSON.parse(bytes.toString()) as unknown };
  } catch {
    return undefined;
  }
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'object' && value !== null) return 'object';
  return typeof value === 'string' ? 'string' : 'other';
}

function check(bytes: Buffer, bytesAtOnce: number): void {
  const scan = new JsonScan(bytes, NAMES);
  while (!scan.step(bytesAtOnce));
  const real = parsed(bytes);
  const equal = (what: string, found: unknown, wanted: unknown): void => {
    if (found !== wanted) throw new Error(`${what} is ${String(found)} instead of ${String(wanted)}`);
  };
  equal('valid', scan.fault === undefined, real !== undefined);
  if (!real) return;
  const { value } = real;
  const kind = kindOf(value);
  equal('kind', scan.kind, kind);
  if (Array.isArray(value)) equal('items', scan.items, value.length);
  for (const name of NAMES) {
    const has = kind === 'object' && Object.hasOwn(value as object, name);
    const member = scan.member(name);
    const found = member && JSON.stringify(JSON.parse(member.toString()));
    equal(`member ${name}`, found, has ? JSON.stringify((value as Record<string, unknown>)[name]) : undefined);
    if (member) equal('blanks around it', member.toString().trim(), member.toString());
  }
}

t.test('JSON', async (t) => {
  fc.assert(
    fc.property(anyJson, step, (text, bytes) => check(Buffer.from(text), bytes)),
    RUNS,
  );
  t.pass();
});

t.test('nearly JSON', async (t) => {
  fc.assert(fc.property(spoilt, step, check), RUNS);
  t.pass();
});

t.test('any bytes', async (t) => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
      step,
      check,
    ),
    RUNS,
  );
  t.pass();
});
