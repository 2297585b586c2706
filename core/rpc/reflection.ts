/** Lets grpcurl and its like read the contract from a running core. The .proto files themselves are read: nothing has to be built. */
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { loadSync } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import type { Server } from '@grpc/grpc-js';

const ROOT = fileURLToPath(new URL('../../proto', import.meta.url));
const PACKAGE = 'slipway/v1';

/** Adds the reflection service. */
export function addReflection(server: Server): void {
  const files = readdirSync(`${ROOT}/${PACKAGE}`).filter((name) => name.endsWith('.proto')).map((name) => `${PACKAGE}/${name}`);
  new ReflectionService(loadSync(files, { includeDirs: [ROOT] })).addToServer(server);
}
