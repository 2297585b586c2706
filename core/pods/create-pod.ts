/** Places and starts a pod, or only places it. */

import type { Actor } from '../domain/accounts/permission.ts';
import type { PodRequest } from '../domain/pods/pod.ts';
import { hostMinimumOf, placePod, podSettings, unshownEnv } from '../domain/pods/pod.ts';
import type { CreationKey } from '../domain/resources/creation-key.ts';
import { checkRegistry } from '../domain/resources/image-name.ts';
import { unknownTemplate } from '../domain/resources/template.ts';
import type { PodView } from '../store/pods/pod-view-store.ts';
import type { PodContext } from './pod-context.ts';
import { getPod } from './pods.ts';

const ID_LENGTH = 14;
/** Variable by which images know that they should start Jupyter, and its password. */
const JUPYTER_PASSWORD = 'JUPYTER_PASSWORD';
const PASSWORD_LENGTH = 24;
/** Variable with the account's SSH keys. */
const PUBLIC_KEY = 'PUBLIC_KEY';

/** How a pod is created. */
interface PodCreation {
  /** Names of the fields that the caller set. */
  fields: readonly string[];
  /** The pod gets the account's SSH keys. `undefined`: as its template says, without one true. */
  startSsh?: boolean | undefined;
  /**
   * The pod gets a password for Jupyter, unless its environment has one. `undefined`: as its template says, without one
   * false.
   */
  startJupyter?: boolean | undefined;
  /** It is created EXITED, and its program does not run. Default false. */
  stopped?: boolean | undefined;
  /** Least processors of its machine. */
  minCpuCount?: number | undefined;
  /** Least memory of its machine in GB. */
  minMemoryGb?: number | undefined;
  key?: CreationKey | undefined;
}

/**
 * Creates a pod and returns it with its machine. Throws INVALID_REQUEST if a field is out of range or refers to an
 * unknown resource. NO_CAPACITY: no machine has capacity. RepeatedCreation: `key` was used before.
 */
export async function createPod(
  context: PodContext,
  actor: Actor,
  request: PodRequest,
  { fields, startSsh, startJupyter, stopped = false, minCpuCount = 0, minMemoryGb = 0, key }: PodCreation,
): Promise<PodView> {
  const { pods, templates, machines, random, onDesired } = context;
  const { accountId } = actor;
  const template = request.templateId === '' ? undefined : await templates.usable(request.templateId, accountId);
  if (request.templateId !== '' && !template) throw unknownTemplate(request.templateId);
  // An empty variable hides the keys that every pod would get.
  const noKeys: Record<string, string> = (startSsh ?? template?.startSsh ?? true) ? {} : { [PUBLIC_KEY]: '' };
  const templateEnv = { ...noKeys, ...unshownEnv(template, accountId) };
  const chosen = podSettings(request, template, accountId, await machines.reportedTypes(request.gpuIds));
  const hasPassword = JUPYTER_PASSWORD in templateEnv || !(startJupyter ?? template?.startJupyter ?? false);
  const password: Record<string, string> = hasPassword ? {} : { [JUPYTER_PASSWORD]: random.id(PASSWORD_LENGTH) };
  const settings = { ...chosen, env: { ...password, ...chosen.env } };
  const hostMinimum = hostMinimumOf(minCpuCount, minMemoryGb);
  checkRegistry('image_name', settings.imageName, context.mayAsk);
  const fresh = { id: random.id(ID_LENGTH), key, templateEnv, isStopped: stopped };
  const made = await pods.create(fresh, actor, settings, fields, (machines, places, quota) =>
    placePod(settings, machines, places, quota, hostMinimum),
  );
  onDesired([made.machineId]);
  return getPod(context, accountId, made.id, []);
}
