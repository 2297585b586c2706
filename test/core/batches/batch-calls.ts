/** Calls to files and batches, as tests make them. */
import type { Batch } from '@slipway/proto/gen/slipway/v1/batch_service';
import { BatchState } from '@slipway/proto/gen/slipway/v1/batch_service';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import type { CoreReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

export const ROUTE = '/v1/chat/completions';

/** Returns a line of a file. */
export function line(customId: string, content: string, model = 'gpt-4o', more: object = {}): string {
  const body = { model, messages: [{ role: 'user', content }] };
  return JSON.stringify({ custom_id: customId, method: 'POST', url: ROUTE, body, ...more });
}

/** Returns calls of one core, with one key. */
export function batchCalls({ clients, key: own }: CoreReplicas, key = own) {
  const upload = async (text: string, pieceBytes = 1024 * 1024): Promise<string> => {
    const { file } = await call(
      clients.files,
      'createFile',
      { purpose: 'batch', filename: 'requests.jsonl', expireSeconds: 0 },
      key,
    );
    const content = Buffer.from(text);
    for (let start = 0; start < content.length; start += pieceBytes)
      await call(
        clients.files,
        'appendFile',
        { id: file!.id, start, content: content.subarray(start, start + pieceBytes) },
        key,
      );
    await call(clients.files, 'finishFile', { id: file!.id, expireSeconds: 0 }, key);
    return file!.id;
  };
  const create = async (inputFileId: string, more: object = {}): Promise<string> => {
    const request = { inputFileId, route: ROUTE, completionWindow: '24h', metadata: {}, resultSeconds: 0, ...more };
    return (await call(clients.batches, 'createBatch', request, key)).batch!.id;
  };
  const get = async (id: string, endpointId = ''): Promise<Batch> =>
    (await call(clients.batches, 'getBatch', { id, endpointId }, key)).batch!;
  const until = (id: string, ...states: BatchState[]): Promise<Batch> =>
    waitFor(
      `batch ${states.map((state) => Object.entries(BatchState).find(([, each]) => each === state)![0])}`,
      async () => {
        const batch = await get(id);
        return states.includes(batch.state) && batch;
      },
    );
  const read = async (id: string): Promise<string> => {
    const pieces: Buffer[] = [];
    let cursor = '';
    do {
      const { content, nextCursor } = await call(clients.files, 'readFile', { id, cursor }, key);
      pieces.push(content);
      cursor = nextCursor;
    } while (cursor !== '');
    return Buffer.concat(pieces).toString();
  };
  const lines = async (id: string): Promise<{ custom_id: string; [name: string]: unknown }[]> =>
    (await read(id))
      .split('\n')
      .filter((text) => text !== '')
      .map((text) => JSON.parse(text) as { custom_id: string });
  return { upload, create, get, until, read, lines };
}
