/** All columns that hold sealed values, and the identity that each value is sealed for. */
import {
  alertUrlIdentity,
  authorityKeyIdentity,
  batchResultIdentity,
  endpointEnvIdentity,
  filePieceIdentity,
  podEnvIdentity,
  podTemplateEnvIdentity,
  registryCredentialsIdentity,
  s3ConfigIdentity,
  secretValueIdentity,
  templateEnvIdentity,
  webhookIdentity,
  webhookSecretIdentity,
} from '../../domain/settings/sealed-identity.ts';

/** A row as text: its key and what the identity needs. */
type RowText = Readonly<Record<string, string>>;

/** A column with sealed values. */
export interface SealedColumn {
  table: string;
  column: string;
  /** Columns of the primary key, each with its type. */
  key: Readonly<Record<string, 'text' | 'integer' | 'bigint' | 'boolean'>>;
  /** Further columns that the identity needs, as SQL over `t`, the row. */
  more?: Readonly<Record<string, string>>;
  /** Returns the identity of a row's value. */
  identity(row: RowText): string;
}

const ID = { id: 'text' } as const;
const JOB = { endpoint_id: 'text', job_id: 'text' } as const;

const ofJob =
  (identity: (endpointId: string, jobId: string) => string) =>
  (row: RowText): string =>
    identity(row['endpoint_id']!, row['job_id']!);

const ofId =
  (identity: (id: string) => string) =>
  (row: RowText): string =>
    identity(row['id']!);

/** A test holds that no sealed column is missing. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  { table: 'template', column: 'env_sealed', key: ID, identity: ofId(templateEnvIdentity) },
  { table: 'endpoint', column: 'env_sealed', key: ID, identity: ofId(endpointEnvIdentity) },
  { table: 'endpoint', column: 'webhook_secret_sealed', key: ID, identity: ofId(webhookSecretIdentity) },
  { table: 'pod', column: 'env_sealed', key: ID, identity: ofId(podEnvIdentity) },
  { table: 'pod', column: 'template_env_sealed', key: ID, identity: ofId(podTemplateEnvIdentity) },
  { table: 'alert_target', column: 'url_sealed', key: ID, identity: ofId(alertUrlIdentity) },
  { table: 'registry_auth', column: 'credentials_sealed', key: ID, identity: ofId(registryCredentialsIdentity) },
  {
    table: 'secret',
    column: 'value_sealed',
    key: ID,
    more: { account_id: 't.account_id' },
    identity: (row) => secretValueIdentity(row['account_id']!, row['id']!),
  },
  {
    table: 'given_template',
    column: 'env_sealed',
    key: { endpoint_id: 'text' },
    more: { template_id: '(SELECT e.template_id FROM endpoint e WHERE e.id = t.endpoint_id)' },
    identity: (row) => templateEnvIdentity(row['template_id']!),
  },
  {
    table: 'endpoint_version',
    column: 'template_env_sealed',
    key: { endpoint_id: 'text', version: 'integer' },
    more: { template_id: 't.template_id' },
    identity: (row) => templateEnvIdentity(row['template_id']!),
  },
  {
    table: 'endpoint_version',
    column: 'endpoint_env_sealed',
    key: { endpoint_id: 'text', version: 'integer' },
    identity: (row) => endpointEnvIdentity(row['endpoint_id']!),
  },
  {
    table: 'installation',
    column: 'authority_key_sealed',
    key: { only: 'boolean' },
    identity: authorityKeyIdentity,
  },
  {
    table: 'installation',
    column: 'next_authority_key_sealed',
    key: { only: 'boolean' },
    identity: authorityKeyIdentity,
  },
  {
    table: 'file_piece',
    column: 'content_sealed',
    key: { file_id: 'text', start: 'bigint' },
    identity: (row) => filePieceIdentity(row['file_id']!, Number(row['start'])),
  },
  {
    table: 'batch_result',
    column: 'content_sealed',
    key: { batch_id: 'text', side: 'text', number: 'integer', piece: 'integer' },
    identity: (row) => batchResultIdentity(row['batch_id']!, Number(row['number']), Number(row['piece'])),
  },
  { table: 'job_input', column: 'webhook_sealed', key: JOB, identity: ofJob(webhookIdentity) },
  { table: 'job_input', column: 's3_config_sealed', key: JOB, identity: ofJob(s3ConfigIdentity) },
  {
    table: 'webhook_delivery',
    column: 'url_sealed',
    key: { endpoint_id: 'text', id: 'bigint' },
    more: { job_id: 't.job_id' },
    identity: ofJob(webhookIdentity),
  },
];
