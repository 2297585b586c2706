/** Rpcs of FileService and BatchService, who may call them, and a request of each. */

import { call } from '../../helpers/grpc/grpc-clients.ts';
import type { Ask, Asked, RULES } from './scope-world.ts';
import { about, clients, core, key, plain, templateId } from './scope-world.ts';

const FILE = { purpose: 'batch', filename: 'requests.jsonl', expireSeconds: 0 };
const REST = { route: '/v1/embeddings', completionWindow: '24h', metadata: {}, resultSeconds: 0 };

const endpointId = await core.createEndpoint({ templateId, workersMin: 0, workersMax: 0 });

async function newFile(isReady = true): Promise<string> {
  const { file } = await call(clients.files, 'createFile', FILE, key);
  if (isReady) await call(clients.files, 'finishFile', { id: file!.id, expireSeconds: 0 }, key);
  return file!.id;
}

async function newBatch(): Promise<string> {
  const request = { ...REST, inputFileId: await newFile() };
  return (await call(clients.batches, 'createBatch', request, key)).batch!.id;
}

/** Returns a draft with a request, of an endpoint on which nothing runs. */
async function newDraft(more: (batchId: string) => object | Promise<object> = () => ({})): Promise<Asked> {
  // Drafts are few: all calls of this file make one each.
  await core.sql`UPDATE batch SET state = 'CANCELLED', ended_at = now() WHERE endpoint_id = ${endpointId}`;
  const { batch } = await call(clients.batches, 'createDraft', { endpointId, inputs: [Buffer.from('{}')] }, key);
  return about(endpointId, { endpointId, batchId: batch!.id, ...(await more(batch!.id)) });
}

const onFile =
  (more: object = {}, isReady = true): Ask =>
  async () => ({ request: { id: await newFile(isReady), ...more } });

async function requestOf(batchId: string): Promise<object> {
  const listed = { endpointId, batchId, offset: 0, limit: 0 };
  return { requestId: (await call(clients.batches, 'listRequests', listed, key)).requests[0]!.id };
}

export const BATCH_ROWS: [rpc: string, rule: keyof typeof RULES, ask: Ask][] = [
  ['FileService/CreateFile', 'files: make', plain(FILE)],
  ['FileService/AppendFile', 'file: change', onFile({ start: 0, content: Buffer.from('x') }, false)],
  ['FileService/FinishFile', 'file: change', onFile({}, false)],
  ['FileService/GetFile', 'file: read', onFile()],
  ['FileService/ListFiles', 'models: read', plain()],
  ['FileService/ReadFile', 'file: read', onFile()],
  ['FileService/DeleteFile', 'file: change', onFile()],
  ['BatchService/CreateBatch', 'file: change', async () => ({ request: { ...REST, inputFileId: await newFile() } })],
  ['BatchService/GetBatch', 'file: read', async () => ({ request: { id: await newBatch() } })],
  ['BatchService/ListBatches', 'models: read', plain()],
  ['BatchService/CancelBatch', 'file: change', async () => ({ request: { id: await newBatch() } })],
  [
    'BatchService/CreateDraft',
    'jobs: change',
    async () => {
      await newDraft();
      return about(endpointId, { endpointId });
    },
  ],
  ['BatchService/AddRequests', 'draft: change', () => newDraft(() => ({ inputs: [Buffer.from('{}')] }))],
  ['BatchService/RemoveRequest', 'draft: change', () => newDraft(requestOf)],
  ['BatchService/FinalizeDraft', 'draft: change', () => newDraft()],
  ['BatchService/ListRequests', 'draft: read', () => newDraft()],
];
