/** Version of core's package, as it is reported to the command line. */
import { readFileSync } from 'node:fs';

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

export const CORE_VERSION = manifest.version;
