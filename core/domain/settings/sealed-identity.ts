/**
 * Names of sealed values. A sealed value opens only under the name it was sealed with, so that it cannot be moved to
 * another row.
 */

/** The S3Config of a job. */
export function s3ConfigIdentity(endpointId: string, jobId: string): string {
  return `job/${endpointId}/${jobId}/s3_config`;
}

/** The webhook secret of an endpoint. */
export function webhookSecretIdentity(endpointId: string): string {
  return `endpoint/${endpointId}/webhook_secret`;
}

/** The RegistryCredentials of a registry auth. */
export function registryCredentialsIdentity(registryAuthId: string): string {
  return `registry_auth/${registryAuthId}/credentials`;
}

/** The environment of a template. */
export function templateEnvIdentity(templateId: string): string {
  return `template/${templateId}/env`;
}

/** The environment of an endpoint. */
export function endpointEnvIdentity(endpointId: string): string {
  return `endpoint/${endpointId}/env`;
}

/** The environment of a pod. */
export function podEnvIdentity(podId: string): string {
  return `pod/${podId}/env`;
}

/** What a public template of another account brought into the environment of a pod. */
export function podTemplateEnvIdentity(podId: string): string {
  return `pod/${podId}/template_env`;
}

/** The webhook of a job. */
export function webhookIdentity(endpointId: string, jobId: string): string {
  return `job/${endpointId}/${jobId}/webhook`;
}
