/** A primary and standbys with its data that are not connected to it. None is started. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCluster, postgresProcess } from '@slipway/dev/postgres/postgres';
import { findPostgres } from '@slipway/dev/postgres/postgres-program';
import { ProcessLog } from '@slipway/dev/processes/process-log';
import { systemClock } from '@slipway/kit/time/clock';
import type { Test } from 'tap';
import { Child } from '../child.ts';
import { openFolder } from '../open-folder.ts';
import { QUICK } from './throwaway-postgres.ts';

/** Creates a primary and a standby. `standbyOf` copies one of them, which must not run, by the name of its folder. */
export async function primaryAndStandby(t: Test) {
  const folder = await openFolder(t);
  const log = new ProcessLog(join(folder, 'postgres.log'));
  const place = await findPostgres(join(folder, 'primary'));
  await createCluster(place, 'secret', log, QUICK);
  const childIn = (dataDir: string): Child<number> =>
    new Child(postgresProcess({ ...place, dataDir }, log, systemClock));
  const standbyOf = (source: 'primary' | 'standby', name: string): Child<number> => {
    const dataDir = join(folder, name);
    execFileSync('cp', ['-a', join(folder, source), dataDir]);
    writeFileSync(join(dataDir, 'standby.signal'), '');
    return childIn(dataDir);
  };
  return { primary: childIn(place.dataDir), standby: standbyOf('primary', 'standby'), standbyOf };
}
