/** Version of the facades' package, as it is reported to core. */
import { packageVersion } from '@slipway/kit/host/package-version';

export const FACADE_VERSION = packageVersion(new URL('./package.json', import.meta.url));
