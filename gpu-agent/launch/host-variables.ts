/**
 * Selects the variables of the agent's host that a process may see: what programs need to run, and none of the agent's
 * own.
 */

const HOST_VARIABLES = new Set([
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LANGUAGE',
  'LC_ALL',
  'LC_CTYPE',
  'TZ',
  'TMPDIR',
  'LD_LIBRARY_PATH',
  'CUDA_HOME',
  'CUDA_PATH',
  'XDG_CACHE_HOME',
  'HF_HOME',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'NODE_EXTRA_CA_CERTS',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'all_proxy',
  'no_proxy',
]);

/** Returns the variables of this environment that a process may see. */
export function hostVariables(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const isShown = ([name, value]: [string, string | undefined]): boolean =>
    HOST_VARIABLES.has(name) && value !== undefined;
  return Object.fromEntries(Object.entries(env).filter(isShown)) as Record<string, string>;
}
