/** Reads what an agent proves itself by, for gpu-agent/config.ts. */
import type { EnvReader } from '@slipway/kit/host/env';
import type { TlsFiles } from '@slipway/kit/net/tls';
import { readJoinToken } from '@slipway/kit/tls/join-token';
import { IdentityFiles } from './identity-files.ts';

/** Reads a key, a token, or what an earlier run got for a token. `trust`: in core, as it was set. */
export function readIdentity(
  reader: EnvReader,
  dataDir: string,
  trust: TlsFiles,
): { key: string; keyFile: string; joinToken: string; tls: TlsFiles } {
  const key = reader.secret('SLIPWAY_AGENT_KEY', '');
  const joinToken = reader.secret('SLIPWAY_JOIN_TOKEN', '');
  const files = new IdentityFiles(dataDir);
  const text = readJoinToken(joinToken);
  if (key !== '' && joinToken !== '')
    reader.fault('SLIPWAY_AGENT_KEY and SLIPWAY_JOIN_TOKEN are both set; one is enough');
  if (joinToken !== '' && !text) reader.fault('SLIPWAY_JOIN_TOKEN is not the text of a token; copy it again');
  if (key === '' && joinToken === '' && !files.exists) {
    reader.fault(
      'SLIPWAY_AGENT_KEY is not set, nor SLIPWAY_JOIN_TOKEN: make a token where core runs (slipway machines token)',
    );
  }
  const keyFile = reader.text('SLIPWAY_AGENT_KEY_FILE', '');
  if (key !== '') return { key, keyFile, joinToken: '', tls: trust };
  const isSystem = text && !files.exists ? text.authority === undefined : files.isSystem;
  return { key, keyFile, joinToken, tls: files.tls(trust, isSystem) };
}
