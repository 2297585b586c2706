/** Facts about the whole database: one row that the first core that starts on it creates, and the releases of core. */
import { bigint, boolean, check, pgTable, primaryKey, sql, text } from '../orm.ts';
import { bytes, instant } from './columns.ts';

export const installation = pgTable(
  'installation',
  {
    /** Always true: there is one row. */
    only: boolean('only').primaryKey().default(true),
    /** Identifies SLIPWAY_SECRET_KEY without revealing it. A core with another key does not start. */
    secretKeyFingerprint: bytes('secret_key_fingerprint').notNull(),
    /** The secret key before it, while rows may still be sealed with that. Null: none. */
    previousSecretKeyFingerprint: bytes('previous_secret_key_fingerprint'),
    /** Time of the latest change of the secret key. Null: it is the first one. */
    secretKeyRotatedAt: instant('secret_key_rotated_at'),
    /** Time at which all plaintext rows of releases without encryption had been encrypted. Null: not yet. */
    plainSealedAt: instant('plain_sealed_at'),
    /** Certificate of the installation's own authority in PEM. Null: no core has spoken TLS yet. */
    authorityCertificate: text('authority_certificate'),
    /** Its private key, sealed. */
    authorityKeySealed: bytes('authority_key_sealed'),
    /** The authority that will follow it: trusted already, and it signs for machines. Null: none is planned. */
    nextAuthorityCertificate: text('next_authority_certificate'),
    nextAuthorityKeySealed: bytes('next_authority_key_sealed'),
    nextAuthorityAt: instant('next_authority_at'),
    /** The authority before: machines may still show certificates of it. Null: none. */
    previousAuthorityCertificate: text('previous_authority_certificate'),
  },
  (t) => [
    check('installation_one_row', sql`${t.only}`),
    check('installation_authority_whole', sql`(${t.authorityCertificate} IS NULL) = (${t.authorityKeySealed} IS NULL)`),
  ],
);

/** A core replica that runs. */
export const coreReplica = pgTable('core_replica', {
  /** Address at which other replicas reach it: host:port or grpcs://host:port. */
  address: text('address').primaryKey(),
  seenAt: instant('seen_at').notNull().defaultNow(),
});

/** A release of core that has started on this database. */
export const coreRelease = pgTable(
  'core_release',
  {
    /** Version of core's package. */
    version: text('version').notNull(),
    /** Its newest migration, as drizzle's journal counts it: milliseconds since 1970. */
    schema: bigint('schema', { mode: 'number' }).notNull(),
    /** File name of that migration without its ending. */
    schemaName: text('schema_name').notNull(),
    /** A core may run on a database with this schema if its own newest migration is this one or a later one. */
    needsSchema: bigint('needs_schema', { mode: 'number' }).notNull(),
    needsSchemaName: text('needs_schema_name').notNull(),
    /** Why older ones may not. */
    needsReason: text('needs_reason').notNull(),
    firstStartedAt: instant('first_started_at').notNull().defaultNow(),
    lastStartedAt: instant('last_started_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.version, t.schema] })],
);
