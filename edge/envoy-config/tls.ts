/**
 * Certificates by SDS from files: Envoy loads a new certificate without a restart, and open connections keep theirs.
 * The SDS files hold the paths of certificate and key, never their content.
 */
import { isIP } from 'node:net';
import { dirname, join } from 'node:path';
import type { CertificateFiles, ClientCertificates } from '../config.ts';
import type { HostPort, Message } from '../message.ts';
import { duration, typed } from '../message.ts';
import { HANDSHAKE_MS } from './limits.ts';

const SECRET = 'envoy.extensions.transport_sockets.tls.v3.Secret';
const DOWNSTREAM = 'envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext';
const UPSTREAM = 'envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext';
const SERVER_CERTIFICATE = 'server_certificate';
const AGENT_AUTHORITY = 'agent_authority';
const CORE_AUTHORITY = 'core_authority';

/** Names of the files in the edge's folder. */
export const SDS_FILES = {
  certificate: 'sds-certificate.json',
  authority: 'sds-agent-ca.json',
  core: 'sds-core-ca.json',
} as const;

/**
 * Returns the SDS file of the server's certificate. Envoy checks the files again when something is renamed into the
 * certificate's folder, as certbot and Kubernetes do. `revision` changes how the path is spelled, which makes Envoy
 * read files that were written in place.
 */
export function certificateSecret({ certFile, keyFile }: CertificateFiles, revision: number): Message {
  return {
    resources: [
      typed(SECRET, {
        name: SERVER_CERTIFICATE,
        tls_certificate: {
          certificate_chain: { filename: spelled(certFile, revision) },
          private_key: { filename: spelled(keyFile, revision) },
          watched_directory: { path: dirname(certFile) },
        },
      }),
    ],
  };
}

/** Returns the SDS file of the authority of client certificates. `revision`: see `certificateSecret`. */
export function authoritySecret({ caFile, uriPrefix }: ClientCertificates, revision: number): Message {
  return {
    resources: [
      typed(SECRET, {
        name: AGENT_AUTHORITY,
        validation_context: {
          trusted_ca: { filename: spelled(caFile, revision) },
          watched_directory: { path: dirname(caFile) },
          ...(uriPrefix === ''
            ? {}
            : { match_typed_subject_alt_names: [{ san_type: 'URI', matcher: { prefix: uriPrefix } }] }),
        },
      }),
    ],
  };
}

/** Returns the SDS file of core's authorities. Core's certificate must name one of the hosts that it is reached by. */
export function coreAuthoritySecret(authorities: string, cores: readonly HostPort[]): Message {
  const names = cores.map(({ host }) => ({
    san_type: isIP(host) === 0 ? 'DNS' : 'IP_ADDRESS',
    matcher: { exact: host },
  }));
  return {
    resources: [
      typed(SECRET, {
        name: CORE_AUTHORITY,
        validation_context: { trusted_ca: { inline_string: authorities }, match_typed_subject_alt_names: names },
      }),
    ],
  };
}

/** Returns the TLS of connections to core. */
export function coreTransport(dataDir: string): Message {
  return {
    name: 'tls',
    typed_config: typed(UPSTREAM, {
      auto_host_sni: true,
      common_tls_context: {
        alpn_protocols: ['h2'],
        tls_params: { tls_minimum_protocol_version: 'TLSv1_2' },
        validation_context_sds_secret_config: secretFrom(CORE_AUTHORITY, join(dataDir, SDS_FILES.core)),
      },
    }),
  };
}

function spelled(file: string, revision: number): string {
  return revision % 2 === 0 ? file : join(dirname(file), '.').concat('/./', file.slice(dirname(file).length + 1));
}

/** Returns the TLS settings of a listener. `clients`: clients need a certificate. */
export function serverTls(dataDir: string, { alpn, clients }: { alpn: readonly string[]; clients: boolean }): Message {
  return {
    transport_socket_connect_timeout: duration(HANDSHAKE_MS),
    transport_socket: {
      name: 'tls',
      typed_config: typed(DOWNSTREAM, {
        ...(clients ? { require_client_certificate: true } : {}),
        common_tls_context: {
          alpn_protocols: alpn,
          tls_params: { tls_minimum_protocol_version: 'TLSv1_2' },
          tls_certificate_sds_secret_configs: [secretFrom(SERVER_CERTIFICATE, join(dataDir, SDS_FILES.certificate))],
          ...(clients
            ? { validation_context_sds_secret_config: secretFrom(AGENT_AUTHORITY, join(dataDir, SDS_FILES.authority)) }
            : {}),
        },
      }),
    },
  };
}

function secretFrom(name: string, file: string): Message {
  return {
    name,
    sds_config: {
      path_config_source: { path: file, watched_directory: { path: dirname(file) } },
      resource_api_version: 'V3',
    },
  };
}
