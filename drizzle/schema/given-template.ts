/**
 * Pinned template versions: copies of another account's public template, made when the endpoint's owner chose it. A
 * change by the template's owner does not affect them. Endpoints that use a template of their own account have no row.
 */
import { integer, jsonb, pgTable, text } from '../orm.ts';
import { bytes, instant } from './columns.ts';
import { endpoint } from './endpoint.ts';

export const givenTemplate = pgTable('given_template', {
  endpointId: text('endpoint_id')
    .primaryKey()
    .references(() => endpoint.id, { onDelete: 'cascade' }),
  /** The copied version of the template. */
  version: integer('version').notNull(),
  imageName: text('image_name').notNull(),
  startCommand: text('start_command').array().notNull(),
  entrypoint: text('entrypoint').array().notNull(),
  /** Same as the template's columns of these names, and encrypted for the same identity. */
  env: jsonb('env').$type<Record<string, string>>().notNull(),
  envSealed: bytes('env_sealed'),
  workingDirectory: text('working_directory').notNull(),
  containerDiskGb: integer('container_disk_gb').notNull(),
  volumeGb: integer('volume_gb').notNull(),
  volumeMountPath: text('volume_mount_path').notNull(),
  ports: text('ports').array().notNull(),
  givenAt: instant('given_at').notNull().defaultNow(),
});
