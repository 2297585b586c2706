/**
 * `.slipway/local.env`: facts about the running system for shells and scripts. The file exists only while everything is
 * ready.
 */
import { renameSync, rmSync, writeFileSync } from 'node:fs';

/** Content of the file. */
export interface LocalFacts {
  /** Public address, for instance http://127.0.0.1:8080. */
  url: string;
  apiKey: string;
  endpointId: string;
  /** gRPC address of core, as host:port. */
  coreAddress: string;
  /** JSON body of a job that works. Absent if the endpoint takes no jobs. */
  exampleInput?: string | undefined;
}

/** Quotes a text for POSIX shells, which then expand nothing in it. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Writes the file atomically, readable by its owner only. */
export function writeLocalEnv(file: string, facts: LocalFacts): void {
  const lines: Record<string, string | undefined> = {
    SLIPWAY_URL: facts.url,
    SLIPWAY_API_KEY: facts.apiKey,
    SLIPWAY_ENDPOINT_ID: facts.endpointId,
    SLIPWAY_CORE_ADDRESS: facts.coreAddress,
    SLIPWAY_EXAMPLE_INPUT: facts.exampleInput,
  };
  const text = Object.entries(lines)
    .map(([name, value]) => (value === undefined ? '' : `${name}=${shellQuote(value)}\n`))
    .join('');
  const part = `${file}.part`;
  writeFileSync(part, text, { mode: 0o600 });
  renameSync(part, file);
}

/** Removes the file. Does nothing if there is none. */
export function removeLocalEnv(file: string): void {
  rmSync(file, { force: true });
}
