/** Builds what runs images: the container engine of the machine, or the Kubernetes node that it is. */
import type { ContainerHostOptions } from './container-host.ts';
import { ContainerHost } from './container-host.ts';
import type { ImageHost } from './image-host.ts';
import type { KubernetesHostOptions } from './kubernetes-host.ts';
import { KubernetesHost } from './kubernetes-host.ts';

/** Returns the host that the configuration names. */
export function buildImageHost(options: ContainerHostOptions & Omit<KubernetesHostOptions, 'settings'>): ImageHost {
  const { kubernetes: settings } = options.config;
  return settings ? new KubernetesHost({ ...options, settings }) : new ContainerHost(options);
}
