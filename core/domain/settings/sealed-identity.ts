/**
 * Identities of sealed values. A sealed value opens only under the identity that it was sealed with, so it cannot be
 * moved to another row.
 */

/** Returns the identity of the S3Config of a job. */
export function s3ConfigIdentity(endpointId: string, jobId: string): string {
  return `job/${endpointId}/${jobId}/s3_config`;
}

/** Returns the identity of the webhook secret of an endpoint. */
export function webhookSecretIdentity(endpointId: string): string {
  return `endpoint/${endpointId}/webhook_secret`;
}

/** Returns the identity of the RegistryCredentials of a registry auth. */
export function registryCredentialsIdentity(registryAuthId: string): string {
  return `registry_auth/${registryAuthId}/credentials`;
}

/** Returns the identity of the environment of a template. */
export function templateEnvIdentity(templateId: string): string {
  return `template/${templateId}/env`;
}

/** Returns the identity of the environment of an endpoint. */
export function endpointEnvIdentity(endpointId: string): string {
  return `endpoint/${endpointId}/env`;
}

/** Returns the identity of the environment of a pod. */
export function podEnvIdentity(podId: string): string {
  return `pod/${podId}/env`;
}

/** Returns the identity of the variables that a pod got from a public template of another account. */
export function podTemplateEnvIdentity(podId: string): string {
  return `pod/${podId}/template_env`;
}

/** Returns the identity of the webhook of a job. */
export function webhookIdentity(endpointId: string, jobId: string): string {
  return `job/${endpointId}/${jobId}/webhook`;
}

/** Returns the identity of the value of an account's secret. */
export function secretValueIdentity(accountId: string, secretId: string): string {
  return `account/${accountId}/secret/${secretId}/value`;
}

/** Returns the identity of the private key of the installation's authority. */
export function authorityKeyIdentity(): string {
  return 'installation/authority_key';
}

/** Returns the identity of a piece of a file. `start`: its offset in bytes. */
export function filePieceIdentity(fileId: string, start: number): string {
  return `file/${fileId}/${start}`;
}

/** Returns the identity of a piece of the result of a request of a batch. */
export function batchResultIdentity(batchId: string, number: number, piece: number): string {
  return `batch/${batchId}/result/${number}/${piece}`;
}

/** Returns the identity of the URL of an address for alerts. */
export function alertUrlIdentity(targetId: string): string {
  return `alert_target/${targetId}/url`;
}
