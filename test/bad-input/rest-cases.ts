/** Short ways to write many wrong requests to the REST surface. */
import type { BadRequest } from './bad-request.ts';

export const MIB = 1024 * 1024;
export const bad = { status: 400, code: 'invalid_request' };
export const gone = (code: string) => ({ status: 404, code });

export type Cases<Value> = [name: string, value: Value][];

export function named<Value>(cases: Cases<Value>, make: (value: Value) => Omit<BadRequest, 'name'>): BadRequest[] {
  return cases.map(([name, value]) => ({ name, ...make(value) }));
}

/** Returns the body of a template. */
export const template = (name: string) => `{"name":"${name}","imageName":"x"}`;

export const many = (count: number, value: unknown): unknown[] => Array.from({ length: count }, () => value);

/** Fields of a wrong type or out of range, over a body that is right without them. */
export function fields(method: string, path: string, right: object, cases: Cases<object | string>): BadRequest[] {
  return named(cases, (wrong) => {
    const whole = JSON.stringify(right);
    const body =
      typeof wrong === 'string'
        ? `${whole.slice(0, -1)}${whole === '{}' ? '' : ','}${wrong}}`
        : JSON.stringify({ ...right, ...wrong });
    return { method, path, body, ...bad };
  });
}
