/** Calls of PodService for the account of a test core, and the pod's row. */

import { podCalls } from '../../helpers/pods/pod-calls.ts';
import type { CoreReplicas } from '../../helpers/system/core-replicas.ts';

export const CPU = { computeType: 'CPU', startCommand: ['sleep', '9'] };
export const gpu = (uuid: string, name = 'NVIDIA L4') => ({ uuid, name, memoryMib: 24_576, migProfile: '' });

export const podsOf = (core: CoreReplicas) => podCalls(core.clients, core.key);
export type Calls = ReturnType<typeof podCalls>;
export const create = (core: CoreReplicas, ...args: Parameters<Calls['create']>) => podsOf(core).create(...args);
export const get = (core: CoreReplicas, ...args: Parameters<Calls['get']>) => podsOf(core).get(...args);
export const list = (core: CoreReplicas, ...args: Parameters<Calls['list']>) => podsOf(core).list(...args);
export const act = (core: CoreReplicas, ...args: Parameters<Calls['act']>) => podsOf(core).act(...args);
export const update = (core: CoreReplicas, ...args: Parameters<Calls['update']>) => podsOf(core).update(...args);
export const remove = (core: CoreReplicas, ...args: Parameters<Calls['remove']>) => podsOf(core).remove(...args);
export const row = async (core: CoreReplicas, id: string) => (await core.sql`SELECT * FROM pod WHERE id = ${id}`)[0]!;
