/** Reads desired pods for agents, and stores the state that agents report. */

import type { Sealer } from '@slipway/kit/host/seal';
import type { PodDesired, PodState } from '../../domain/pods/pod.ts';
import type { StartVariables } from '../../domain/resources/secret-reference.ts';
import { podEnvIdentity, podTemplateEnvIdentity } from '../../domain/settings/sealed-identity.ts';
import type { MachineSession } from '../machines/machine-store.ts';
import { gpusOccupied } from '../scaling/standby-rows.ts';
import type { Database } from '../sql/database.ts';
import type { EnvColumns } from '../sql/env-seals.ts';
import { openEnv, overTemplate } from '../sql/env-seals.ts';

/** State of a pod, as its agent reports it. */
export interface PodFacts {
  podId: string;
  /** The run that the report is about. */
  run: number;
  state: PodState;
  reason: string;
  exitCode: number | null;
  /** host:port or `tunnel`, by HTTP port. */
  httpAddresses: Readonly<Record<string, string>>;
  /** host:port by TCP port. */
  tcpAddresses: Readonly<Record<string, string>>;
}

/** A pod that a machine should have. */
export interface DesiredPodRow {
  id: string;
  machineId: string;
  desired: PodDesired;
  run: number;
  disk: number;
}

/** Start spec of a pod, from its current row. */
export interface PodSpecRow extends DesiredPodRow {
  startCommand: string[];
  workingDirectory: string;
  imageName: string;
  /** Digest of the image for this run. Empty: not resolved yet. */
  imageDigest: string;
  entrypoint: string[];
  /** Its environment, over that of a public template of another account, with references to secrets. */
  start: StartVariables;
  accountId: string;
  state: PodState;
  /** SSH key of the account. Empty: none. */
  publicKey: string;
  accountNumber: number;
  gpuUuids: string[];
  gpuTypeId: string;
  /** Size of the pod. Empty: none. */
  instanceId: string;
  networkVolumeId: string | null;
  /** Size of the network volume. Null without one. */
  networkVolumeGb: number | null;
  containerDiskGb: number;
  volumeGb: number;
  volumeMountPath: string;
  ports: string[];
  registryAuthId: string | null;
  /** Sealed credentials. Null: none. */
  credentialsSealed: Buffer | null;
  /** Name of the credentials. */
  registryAuthName: string | null;
}

export class PodReportStore {
  readonly #database: Database;
  readonly #sealer: Sealer;

  constructor(database: Database, sealer: Sealer) {
    this.#database = database;
    this.#sealer = sealer;
  }

  /**
   * Stores the report of a machine's agent. Pods of other machines and reports of earlier runs are ignored. Nothing
   * changes if a later session owns the machine: it has reported the newer state.
   */
  async report({ machineId, sessionId }: MachineSession, facts: readonly PodFacts[]): Promise<void> {
    await this.#database.sql`
      UPDATE pod p SET state = r.state, status_text = r.reason, exit_code = r.exit_code,
        http_addresses = r.http_addresses::jsonb, tcp_addresses = r.tcp_addresses::jsonb,
        state_changed_at = CASE WHEN p.state = r.state THEN p.state_changed_at ELSE now() END
      FROM unnest(${facts.map((f) => f.podId)}::text[], ${facts.map((f) => f.run)}::int[],
        ${facts.map((f) => f.state)}::text[],
        ${facts.map((f) => f.reason)}::text[], ${facts.map((f) => f.exitCode)}::int[],
        ${facts.map((f) => JSON.stringify(f.httpAddresses))}::text[],
        ${facts.map((f) => JSON.stringify(f.tcpAddresses))}::text[]) AS r (id, run, state, reason, exit_code,
        http_addresses, tcp_addresses)
      WHERE p.id = r.id AND p.machine_id = ${machineId} AND p.run = r.run
        AND (p.state, p.status_text, p.exit_code, p.http_addresses, p.tcp_addresses) IS DISTINCT
          FROM (r.state, r.reason, r.exit_code, r.http_addresses::jsonb, r.tcp_addresses::jsonb)
        AND EXISTS (SELECT FROM machine m WHERE m.id = ${machineId}
          AND coalesce(m.session_id, ${sessionId}) = ${sessionId})`;
  }

  /**
   * Records that an agent came back without some pods of its machine. Their processes are gone; pods that should run
   * are started again. Nothing changes if a later session owns the machine.
   */
  async missing({ machineId, sessionId }: MachineSession, listedIds: readonly string[]): Promise<void> {
    await this.#database.sql`
      UPDATE pod p SET state = s.state, status_text = '', exit_code = NULL, state_changed_at = now()
      FROM (VALUES ('RUNNING', 'STARTING'), ('EXITED', 'EXITED')) AS s (desired, state)
      WHERE p.machine_id = ${machineId} AND p.id <> ALL(${[...listedIds]}) AND s.desired = p.desired
        AND p.state <> s.state AND EXISTS (SELECT FROM machine m WHERE m.id = ${machineId}
          AND coalesce(m.session_id, ${sessionId}) = ${sessionId})`;
  }

  /** Returns all pods of these machines. */
  async desiredOf(machineIds: readonly string[]): Promise<DesiredPodRow[]> {
    const { sql } = this.#database;
    // A pod stays as its previous run left it until workers have been offloaded from its GPUs.
    return sql<DesiredPodRow[]>`
      SELECT w.id, w.machine_id AS "machineId", CASE WHEN waits THEN 'EXITED' ELSE w.desired END AS desired,
        CASE WHEN waits THEN w.run - 1 ELSE w.run END AS run, w.disk
      FROM pod w CROSS JOIN LATERAL (SELECT w.desired = 'RUNNING' AND w.gpu_uuids <> '{}' AND w.state = 'STARTING'
        AND ${gpusOccupied(sql, sql`false`)} AS waits) AS o
      WHERE w.machine_id = ANY(${[...machineIds]}) ORDER BY w.created_at, w.id`;
  }

  /** Returns the start specs of these pods. */
  async specsOf(podIds: readonly string[]): Promise<PodSpecRow[]> {
    const rows = await this.#database.sql<
      (Omit<PodSpecRow, 'start'> & EnvColumns & { templateEnvSealed: Buffer | null })[]
    >`
      SELECT p.id, p.machine_id AS "machineId", p.desired, p.run, p.disk, p.state, p.account_id AS "accountId",
        p.start_command AS "startCommand",
        p.working_directory AS "workingDirectory", p.image_name AS "imageName", p.entrypoint, p.env,
        p.env_sealed AS "envSealed",
        CASE WHEN p.image_digest_run = p.run THEN p.image_digest ELSE '' END AS "imageDigest",
        p.template_env_sealed AS "templateEnvSealed",
        a.public_key AS "publicKey", a.number AS "accountNumber",
        p.gpu_uuids AS "gpuUuids", p.gpu_type_id AS "gpuTypeId", p.instance_id AS "instanceId",
        p.network_volume_id AS "networkVolumeId",
        (SELECT v.size_gb FROM network_volume v WHERE v.id = p.network_volume_id) AS "networkVolumeGb",
        p.container_disk_gb AS "containerDiskGb", p.volume_gb AS "volumeGb", p.volume_mount_path AS "volumeMountPath",
        p.ports,
        p.registry_auth_id AS "registryAuthId", r.credentials_sealed AS "credentialsSealed",
        r.name AS "registryAuthName"
      FROM pod p JOIN account a ON a.id = p.account_id LEFT JOIN registry_auth r ON r.id = p.registry_auth_id
      WHERE p.id = ANY(${[...podIds]})`;
    return rows.map(({ env, envSealed, templateEnvSealed, ...row }) => ({
      ...row,
      start: overTemplate(
        openEnv(this.#sealer, { env: {}, envSealed: templateEnvSealed }, podTemplateEnvIdentity(row.id)),
        openEnv(this.#sealer, { env, envSealed }, podEnvIdentity(row.id)),
        true,
      ),
    }));
  }
}
