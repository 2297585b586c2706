/**
 * What an endpoint runs of another account's public template: a copy from when its owner took it. The template's owner
 * changes his template, never what others run. Endpoints that use a template of their own account have no row.
 */
import { integer, jsonb, pgTable, text } from '../orm.ts';
import { bytes, instant } from './columns.ts';
import { endpoint } from './endpoint.ts';

export const givenTemplate = pgTable('given_template', {
  endpointId: text('endpoint_id')
    .primaryKey()
    .references(() => endpoint.id, { onDelete: 'cascade' }),
  /** The template's version that was taken. */
  version: integer('version').notNull(),
  imageName: text('image_name').notNull(),
  startCommand: text('start_command').array().notNull(),
  entrypoint: text('entrypoint').array().notNull(),
  /** As the template's columns of these names, and sealed for the same identity. */
  env: jsonb('env').$type<Record<string, string>>().notNull(),
  envSealed: bytes('env_sealed'),
  workingDirectory: text('working_directory').notNull(),
  containerDiskGb: integer('container_disk_gb').notNull(),
  volumeGb: integer('volume_gb').notNull(),
  volumeMountPath: text('volume_mount_path').notNull(),
  ports: text('ports').array().notNull(),
  givenAt: instant('given_at').notNull().defaultNow(),
});
