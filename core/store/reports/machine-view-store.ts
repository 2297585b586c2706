/** Reads what is on a machine, for its operator. Never reads what accounts gave to their workers and pods. */
import type { PodDesired, PodState } from '../../domain/pods/pod.ts';
import type { MachineImageFacts } from '../machines/image-store.ts';
import type { Database } from '../sql/database.ts';

/** A pod, without the data of its account. */
export interface MachinePod {
  id: string;
  name: string;
  accountId: string;
  state: PodState;
  desired: PodDesired;
  imageName: string;
  gpuUuids: string[];
  stateChangedAtMs: number;
}

/** Address of an HTTP server. `port` is empty for a worker. */
export interface MachineAddress {
  id: string;
  port: string;
  address: string;
}

/** The session and the key of a machine. */
export interface MachineConnection {
  /** Empty: it is not connected. */
  replicaAddress: string;
  agentSinceMs: number;
  /** Empty: unknown. */
  keyId: string;
  /** Null: the key was not revoked. */
  keyRevokedAtMs: number | null;
}

/** Images of a machine: the largest, and the number and total bytes of all. */
export interface MachineImages {
  images: MachineImageFacts[];
  count: number;
  bytes: number;
}

/** An endpoint whose workers found no slot. */
export interface WaitingEndpoint {
  id: string;
  name: string;
  accountId: string;
}

const PODS_MAX = 500;
const IMAGES_MAX = 200;
const ADDRESSES_MAX = 1_000;
const WAITING_MAX = 20;

export class MachineViewStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns the versions of the agents of connected machines, with the number of machines of each. */
  async agentVersions(): Promise<{ version: string; machines: number }[]> {
    return this.#database.sql<{ version: string; machines: number }[]>`
      SELECT agent_version AS version, count(*) AS machines FROM machine
      WHERE session_id IS NOT NULL AND lease_expires_at > now() GROUP BY agent_version`;
  }

  /** Returns the connection of a machine. `undefined` if there is no such machine. */
  async standing(id: string): Promise<MachineConnection | undefined> {
    const [row] = await this.#database.sql<MachineConnection[]>`
      SELECT CASE WHEN m.session_id IS NOT NULL AND m.lease_expires_at > now() THEN m.replica_address
        ELSE '' END AS "replicaAddress",
        (extract(epoch FROM m.instance_since) * 1000)::bigint AS "agentSinceMs", coalesce(k.id, '') AS "keyId",
        (extract(epoch FROM k.revoked_at) * 1000)::bigint AS "keyRevokedAtMs"
      FROM machine m LEFT JOIN LATERAL (
        SELECT id, revoked_at FROM api_key WHERE machine_id = m.id ORDER BY revoked_at DESC NULLS FIRST, id
          LIMIT 1) AS k ON true
      WHERE m.id = ${id}`;
    return row;
  }

  /** Returns the pods of a machine, oldest first. */
  async pods(id: string): Promise<MachinePod[]> {
    return this.#database.sql<MachinePod[]>`
      SELECT id, name, account_id AS "accountId", state, desired, image_name AS "imageName", gpu_uuids AS "gpuUuids",
        (extract(epoch FROM state_changed_at) * 1000)::bigint AS "stateChangedAtMs"
      FROM pod WHERE machine_id = ${id} ORDER BY created_at, id LIMIT ${PODS_MAX}`;
  }

  async images(id: string): Promise<MachineImages> {
    const { sql } = this.#database;
    const [images, [sum]] = await Promise.all([
      sql<MachineImageFacts[]>`
        SELECT name, digest, size_bytes AS "sizeBytes" FROM machine_image WHERE machine_id = ${id}
          ORDER BY size_bytes DESC, name LIMIT ${IMAGES_MAX}`,
      sql<{ count: number; bytes: number }[]>`
        SELECT count(*)::int AS count, coalesce(sum(size_bytes), 0)::bigint AS bytes FROM machine_image
          WHERE machine_id = ${id}`,
    ]);
    return { images, count: sum!.count, bytes: sum!.bytes };
  }

  /** Returns the addresses of running workers and pods. */
  async addresses(id: string): Promise<MachineAddress[]> {
    return this.#database.sql<MachineAddress[]>`
      SELECT * FROM (
        SELECT id, '' AS port, address FROM worker WHERE machine_id = ${id} AND ended_at IS NULL AND machine_id <> ''
          AND address <> ''
        UNION ALL SELECT p.id, a.key, a.value FROM pod p CROSS JOIN LATERAL jsonb_each_text(p.http_addresses) AS a
        WHERE p.machine_id = ${id} AND p.state = 'RUNNING') AS listening
      ORDER BY id, port LIMIT ${ADDRESSES_MAX}`;
  }

  /** Returns waiting endpoints of all accounts, the longest waiting first. */
  async waiting(): Promise<WaitingEndpoint[]> {
    return this.#database.sql<WaitingEndpoint[]>`
      SELECT e.id, e.name, e.account_id AS "accountId" FROM scale_decision d JOIN endpoint e ON e.id = d.endpoint_id
      WHERE d.throttled > 0 ORDER BY d.decided_at, e.id LIMIT ${WAITING_MAX}`;
  }

  /** Returns why machines with GPUs cannot offload workers, by id. */
  async offloadFaults(): Promise<Map<string, string>> {
    const rows = await this.#database.sql<{ id: string; fault: string }[]>`
      SELECT id, gpu_offload ->> 'unsupportedReason' AS fault FROM machine
      WHERE gpu_offload IS NOT NULL AND NOT (gpu_offload ->> 'supported')::boolean AND gpus <> '[]'`;
    return new Map(rows.map(({ id, fault }) => [id, fault]));
  }
}
