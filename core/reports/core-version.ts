/** Version of core's package, as it is reported to other parts. */
import { packageVersion } from '@slipway/kit/host/package-version';

export const CORE_VERSION = packageVersion(new URL('../package.json', import.meta.url));
