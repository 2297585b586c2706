/** The fields of Kubernetes objects that the agent reads. */

/** Metadata of an object. */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
}

/** Owner of an object: when the owner is deleted, Kubernetes deletes the object. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
}

interface WaitingState {
  reason?: string;
  message?: string;
}

/** How a container ended. */
export interface TerminatedState extends WaitingState {
  exitCode: number;
  signal?: number;
}

/** State of a container of a Pod. */
interface ContainerStatus {
  name: string;
  imageID?: string;
  /** Devices that it got, by the resource that counts them. Kubelets from 1.36 on report it; older ones if so set. */
  allocatedResourcesStatus?: { name: string; resources?: { resourceID: string }[] }[];
  state?: { waiting?: WaitingState; running?: { startedAt?: string }; terminated?: TerminatedState };
}

/** A condition of a Pod or node. */
interface Condition extends WaitingState {
  type: string;
  status: string;
}

/** Resources of a container. */
interface Resources {
  limits?: Record<string, string>;
  requests?: Record<string, string>;
}

/** A Pod. */
export interface ApiPod {
  metadata: ObjectMeta;
  spec?: {
    nodeName?: string;
    containers?: { name: string; resources?: Resources; envFrom?: { secretRef?: { name: string } }[] }[];
    initContainers?: { resources?: Resources }[];
    imagePullSecrets?: { name: string }[];
    resourceClaims?: { name: string; resourceClaimName?: string }[];
  };
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    podIP?: string;
    conditions?: Condition[];
    containerStatuses?: ContainerStatus[];
  };
}

/** A node. */
export interface ApiNode {
  metadata: ObjectMeta;
  status?: {
    capacity?: Record<string, string>;
    allocatable?: Record<string, string>;
    images?: { names?: string[]; sizeBytes?: number }[];
  };
}

/** A value of an attribute of a device. */
interface AttributeValue {
  string?: string;
  int?: number;
  bool?: boolean;
  version?: string;
}

/** A device that a driver offers. */
export interface ApiDevice {
  name: string;
  attributes?: Record<string, AttributeValue>;
  capacity?: Record<string, { value: string }>;
}

/** Devices of a driver on a node. */
export interface ApiResourceSlice {
  metadata: ObjectMeta;
  spec: { driver: string; nodeName?: string; pool: { name: string; generation?: number }; devices?: ApiDevice[] };
}

/** A claim of devices. */
export interface ApiResourceClaim {
  metadata: ObjectMeta;
  status?: {
    allocation?: { devices?: { results?: { driver: string; pool: string; device: string }[] } };
    reservedFor?: { resource: string; name: string }[];
  };
}

/** A list of objects. */
export interface ApiList<Item> {
  metadata: { resourceVersion?: string; continue?: string };
  items: Item[];
}
