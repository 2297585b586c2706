/** Version of the edge's package, as it is reported to core. */
import { packageVersion } from '@slipway/kit/host/package-version';

export const EDGE_VERSION = packageVersion(new URL('./package.json', import.meta.url));
