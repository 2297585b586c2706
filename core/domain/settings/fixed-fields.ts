/** Fields that never change after creation. Clients that send all fields may name them with their present value. */
import { invalid, snake } from './fields.ts';

/** Throws INVALID_REQUEST if the change gives one of these fields another value than it has. */
export function checkFixed<Settings extends object>(
  current: Settings,
  change: Partial<Settings>,
  fixed: readonly (keyof Settings & string)[],
): void {
  for (const field of fixed) {
    if (change[field] === undefined || change[field] === current[field]) continue;
    throw invalid(`${snake(field)} is fixed after creation and is ${JSON.stringify(current[field])} here`);
  }
}
