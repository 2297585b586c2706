/** The environment of a Pod's container: its values, those of Secrets, and those of the downward API. */
import type { ApiPod } from '@slipway/gpu-agent/executors/kubernetes/api-types';
import type { KubeApi } from '@slipway/tools/kube/kube-api';
import { KubeApiError } from '@slipway/tools/kube/kube-api';
import { waitFor } from '../time/wait-for.ts';

/** A Pod's spec as far as a kubelet of tests reads it. */
export interface PodSpec {
  affinity?: unknown;
  containers: {
    command?: string[];
    args?: string[];
    workingDir?: string;
    image: string;
    envFrom?: { secretRef: { name: string } }[];
    env?: EnvVariable[];
  }[];
}

interface EnvVariable {
  name: string;
  value?: string;
  valueFrom?: { secretKeyRef?: { name: string; key: string }; fieldRef?: { fieldPath: string } };
}

interface Secret {
  data?: Record<string, string>;
}

/**
 * Returns the variables of a container. Waits for a Secret that does not exist yet, as a kubelet does. Rejects when the
 * Pod is gone meanwhile.
 */
export async function podEnv(
  api: KubeApi,
  { metadata, spec }: ApiPod,
  { envFrom = [], env = [] }: PodSpec['containers'][number],
): Promise<Record<string, string>> {
  const namespace = `/api/v1/namespaces/${metadata.namespace}`;
  const secret = async (name: string): Promise<Record<string, string>> => {
    const { data = {} } = await api.send<Secret>('GET', `${namespace}/secrets/${name}`);
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
    );
  };
  const isGone = (): Promise<boolean> =>
    api.send('GET', `${namespace}/pods/${metadata.name}`).then(
      () => false,
      (error: unknown) => error instanceof KubeApiError && error.code === 404,
    );
  /** Returns a Secret once it exists. */
  const madeSecret = async (name: string): Promise<Record<string, string>> => {
    await waitFor(`Secret ${name}`, () =>
      secret(name).catch(async (error: unknown) => {
        if (!(await isGone())) throw error;
        return true;
      }),
    );
    return secret(name);
  };
  const fields: Record<string, string> = {
    'metadata.name': metadata.name,
    'spec.nodeName': spec?.nodeName ?? '',
    'status.hostIP': '127.0.0.1',
  };
  const found: Record<string, string> = {};
  for (const { secretRef } of envFrom) Object.assign(found, await madeSecret(secretRef.name));
  for (const { name, value = '', valueFrom } of env) {
    const { secretKeyRef: ref, fieldRef: field } = valueFrom ?? {};
    const plain = field ? fields[field.fieldPath] : value;
    found[name] = (ref ? (await secret(ref.name))[ref.key] : plain) ?? '';
  }
  return found;
}
