/** Version of the agent's package, as it is reported to core. */
import { readFileSync } from 'node:fs';

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };

export const AGENT_VERSION = manifest.version;
