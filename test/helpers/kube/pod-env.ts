/** The environment of a Pod's container: its values, those of Secrets, and those of the downward API. */
import type { ApiPod } from '@slipway/gpu-agent/executors/kubernetes/api-types';
import type { KubeApi } from '@slipway/tools/kube/kube-api';
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

/** Returns the variables of a container. Waits for a Secret that does not exist yet, as a kubelet does. */
export async function podEnv(
  api: KubeApi,
  { metadata, spec }: ApiPod,
  { envFrom = [], env = [] }: PodSpec['containers'][number],
): Promise<Record<string, string>> {
  const secret = async (name: string): Promise<Record<string, string>> => {
    const path = `/api/v1/namespaces/${metadata.namespace}/secrets/${name}`;
    const read = () => api.send<{ data?: Record<string, string> }>('GET', path);
    const { data = {} } = await waitFor(path, read).catch(read);
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
    );
  };
  const fields: Record<string, string> = {
    'metadata.name': metadata.name,
    'spec.nodeName': spec?.nodeName ?? '',
    'status.hostIP': '127.0.0.1',
  };
  const found: Record<string, string> = {};
  for (const { secretRef } of envFrom) Object.assign(found, await secret(secretRef.name));
  for (const { name, value = '', valueFrom } of env) {
    const { secretKeyRef: ref, fieldRef: field } = valueFrom ?? {};
    const plain = field ? fields[field.fieldPath] : value;
    found[name] = (ref ? (await secret(ref.name))[ref.key] : plain) ?? '';
  }
  return found;
}
