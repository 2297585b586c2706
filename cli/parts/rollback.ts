/** `slipway version --rollback`: which releases of core may run on the database again. */

import type { CoreRelease } from '@slipway/proto/gen/slipway/v1/part_service';
import { RollbackSupport } from '@slipway/proto/gen/slipway/v1/part_service';
import { enumName } from '@slipway/proto/wire/enum-name';
import type { Cli } from '../cli.ts';
import type { Column } from '../output/table.ts';

const COLUMNS: readonly Column<CoreRelease>[] = [
  { title: 'RELEASE', text: ({ version }) => version },
  { title: 'SCHEMA', text: ({ schema }) => schema },
  { title: 'LAST START', text: ({ lastStartedTime }) => lastStartedTime?.toISOString().slice(0, 16) ?? '' },
  { title: 'MAY RUN', text: mayRun },
];

function mayRun({ rollback, reason }: CoreRelease): string {
  if (rollback === RollbackSupport.RUNS) return 'yes';
  if (rollback === RollbackSupport.RUNS_IF_ALLOWED) return 'yes, with --allow-newer-database';
  return `no: ${reason}; restore a backup`;
}

/** Shows the releases that have started on core's database. Needs the root key. */
export async function showRollback({ operator, output }: Cli): Promise<void> {
  const { coreVersion, schema, coreReleases } = await operator.parts.call((client) => client.listParts, {});
  output.result({ coreVersion, schema, coreReleases: coreReleases.map(present) }, () => {
    output.fields([
      ['core', coreVersion],
      ['schema', schema === '' ? 'not known: core is earlier than 0.4' : schema],
    ]);
    if (coreReleases.length === 0) return;
    output.line('');
    output.table(COLUMNS, coreReleases, '');
  });
}

function present({ rollback, firstStartedTime, lastStartedTime, ...release }: CoreRelease) {
  return {
    ...release,
    rollback: enumName(RollbackSupport, rollback),
    firstStartedAt: firstStartedTime?.toISOString() ?? null,
    lastStartedAt: lastStartedTime?.toISOString() ?? null,
  };
}
