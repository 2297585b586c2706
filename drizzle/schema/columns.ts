/** Column shapes that several tables share. */
import { customType, timestamp } from '../orm.ts';

/** An instant by the database clock, microsecond precision. */
export const instant = (name: string) => timestamp(name, { withTimezone: true });

/** Raw bytes: JSON of users is stored exactly as it came, and secrets are stored encrypted. */
export const bytes = customType<{ data: Buffer; driverData: Buffer }>({ dataType: () => 'bytea' });
