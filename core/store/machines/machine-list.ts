/** Search, order and filters of the list of machines. */

import { sql as part } from '@slipway/drizzle/orm';
import { apiKey } from '@slipway/drizzle/schema/api-key';
import { machine as machineTable } from '@slipway/drizzle/schema/machine';
import { whereWord } from '../sql/list-filter.ts';
import type { PageRows } from '../sql/page.ts';
import { byNumber, byText, byTime } from '../sql/page.ts';

const IS_HERE = part`(${machineTable.sessionId} IS NOT NULL AND ${machineTable.leaseExpiresAt} > now())`;
/** Keys of a machine. A machine whose keys are all revoked cannot come back. */
const KEYS = part`SELECT FROM ${apiKey} WHERE ${apiKey.machineId} = ${machineTable.id}`;

/** Columns of the list, with its searched fields, orders and filters. */
export const MACHINE_LIST: PageRows = {
  from: machineTable,
  id: machineTable.id,
  createdAt: machineTable.seenAt,
  where: undefined,
  bytes: part`2000 + octet_length(${machineTable.gpus}::text)`,
  searched: [machineTable.name, machineTable.agentVersion, part`array_to_string(${machineTable.locations}, ' ')`],
  sorts: {
    name: byText(machineTable.name),
    seen: byTime(machineTable.seenAt),
    memory: byNumber(machineTable.memoryMib),
    processors: byNumber(machineTable.cpuCount),
    gpus: byNumber(part`jsonb_array_length(${machineTable.gpus})`),
    state: byNumber(part`${IS_HERE}::int * 2 + (NOT ${machineTable.cordoned})::int`),
  },
  filters: {
    state: whereWord({
      here: IS_HERE,
      away: part`NOT ${IS_HERE}`,
      cordoned: part`${machineTable.cordoned}`,
      revoked: part`EXISTS (${KEYS}) AND NOT EXISTS (${KEYS} AND ${apiKey.revokedAt} IS NULL)`,
    }),
    gpu: {
      keeps: (value: string) => part`EXISTS (
        SELECT FROM jsonb_array_elements(${machineTable.gpus}) AS g
        WHERE strpos(lower(concat_ws(' MIG ', g ->> 'name', nullif(g ->> 'migProfile', ''))), lower(${value})) > 0)`,
      words: undefined,
    },
  },
};
