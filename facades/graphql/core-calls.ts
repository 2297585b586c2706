/** Calls to core from resolvers, through the in-context client that Mesh builds. Every failure is thrown: Mesh itself hands back Error objects. */
import { Metadata } from '@grpc/grpc-js';
import { GraphQLError } from 'graphql';
import type { GraphQLResolveInfo } from 'graphql';
import { fromGrpcError } from '../../proto/wire/reason.ts';
import { publicError } from '../plugins/public-error.ts';

/** What the route puts into every operation's context, and what Mesh adds. */
export interface GraphqlContext {
  apiKey: string;
  accountId: string;
  Core: Record<'Query' | 'Mutation', Record<string, (options: MeshCall) => Promise<unknown>>>;
}

interface MeshCall {
  root: unknown;
  args: { input: unknown };
  context: GraphqlContext;
  info: GraphQLResolveInfo;
  selectionSet: string;
}

/** An endpoint as Mesh hands it over: enums by name, 64-bit numbers as they come; a number or flag that is zero is null. */
export interface CoreEndpoint {
  id: string;
  name: string;
  templateId: string;
  type: string;
  gpuIds: string[] | null;
  gpuCount: number | null;
  workersMin: number | null;
  workersMax: number | null;
  idleTimeoutSeconds: number | null;
  scalerType: string;
  scalerValue: number | null;
  executionTimeoutMs: bigint | number | string;
  flashBootType: string;
  locations: string[] | null;
  networkVolumeIds: string[] | null;
  env: Record<string, string> | null;
  version: number | null;
  createTime: { seconds: bigint | number | string } | null;
  computeType: string | null;
  allowedCudaVersions: string[] | null;
}

/** A template as Mesh hands it over. */
export interface CoreTemplate {
  id: string;
  name: string;
  imageName: string | null;
  startCommand: string[] | null;
  env: Record<string, string> | null;
  containerDiskGb: number | null;
  volumeGb: number | null;
  volumeMountPath: string | null;
  ports: string[] | null;
  registryAuthId: string | null;
  serverless: boolean | null;
  public: boolean | null;
  readme: string | null;
}

/** Fields of an endpoint that the public schema shows. */
export const ENDPOINT_FIELDS = `{ endpoint { id name templateId type gpuIds gpuCount workersMin workersMax idleTimeoutSeconds scalerType scalerValue
  executionTimeoutMs flashBootType locations networkVolumeIds env version createTime { seconds } computeType allowedCudaVersions } }`;
/** Fields of a template that the public schema shows. */
export const TEMPLATE_FIELDS = `{ template { id name imageName startCommand env containerDiskGb volumeGb volumeMountPath ports registryAuthId serverless
  public readme } }`;
/** The same for lists. */
export const ENDPOINTS_FIELDS = ENDPOINT_FIELDS.replace('{ endpoint {', '{ endpoints {');
export const TEMPLATES_FIELDS = TEMPLATE_FIELDS.replace('{ template {', '{ templates {');

/** Root fields of Mesh's client that only read start with one of these verbs; all others are mutations. */
const READS = /^(Get|List)/;

/** Makes a call of a service, for instance ('EndpointService', 'GetEndpoint'). Throws GraphQLError with the reason as its code. */
export async function callCore<Response>(
  service: string, method: string, input: unknown, selectionSet: string, context: GraphqlContext, info: GraphQLResolveInfo,
): Promise<Response> {
  const root = READS.test(method) ? context.Core.Query : context.Core.Mutation;
  const call = root[`slipway_v1_${service}_${method}`];
  if (!call) throw new Error(`core has no ${service}.${method}`);
  const answer = await call({ root: {}, args: { input }, context, info, selectionSet }).catch((error: unknown) => error);
  if (answer instanceof Error || answer === null || answer === undefined) throw toGraphqlError(answer);
  return answer as Response;
}

/** A failed call as the client sees it (compat.md 4.1). */
export function toGraphqlError(error: unknown): GraphQLError {
  const { grpc } = (error as { extensions?: { grpc?: GrpcFailure } }).extensions ?? {};
  const known = publicError(fromGrpcError(grpc ? { ...grpc, metadata: metadataOf(grpc) } : error));
  return new GraphQLError(known.text, { extensions: { code: 'RUNPOD', reason: known.code.toUpperCase(), status: known.status } });
}

/** A gRPC failure as Mesh shows it. */
interface GrpcFailure {
  code: number;
  details: string;
  metadata?: Record<string, string | Buffer>;
}

function metadataOf(grpc: GrpcFailure): Metadata {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(grpc.metadata ?? {})) metadata.set(key, value);
  return metadata;
}
