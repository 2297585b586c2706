/** FileService: decode, call a use case, encode. */
import type { File, FileServiceServer } from '@slipway/proto/gen/slipway/v1/file_service';
import type { Access } from '../../access/access.ts';
import type { FileContext } from '../../batches/files.ts';
import { appendFile, createFile, deleteFile, finishFile, getFile, listFiles, readFile } from '../../batches/files.ts';
import type { AccountFile } from '../../domain/batches/file.ts';
import type { ListParts } from '../server/paging.ts';
import { listing } from '../server/paging.ts';
import { unary } from '../server/unary.ts';
import { batchCaller } from './batch-caller.ts';

/** Returns the handlers of the service. */
export function fileHandlers(access: Access, context: FileContext, lists: ListParts): FileServiceServer {
  const { logger } = lists;
  return {
    createFile: unary(logger, async ({ purpose, filename, expireSeconds }, apiKey) => {
      const { actor } = await batchCaller(access, apiKey, true);
      return { file: toMessage(await createFile(context, actor, { purpose, filename, expireSeconds })) };
    }),
    appendFile: unary(logger, async (request, apiKey) => ({
      bytes: await appendFile(context, await batchCaller(access, apiKey, true), request),
    })),
    finishFile: unary(logger, async (request, apiKey) => ({
      file: toMessage(await finishFile(context, await batchCaller(access, apiKey, true), request)),
    })),
    getFile: unary(logger, async ({ id }, apiKey) => {
      const { scope } = await batchCaller(access, apiKey, false);
      return { file: toMessage(await getFile(context, scope, id)) };
    }),
    listFiles: listing(lists, async (request, apiKey, enter) => {
      const { scope } = await batchCaller(access, apiKey, false);
      await enter(scope.accountId);
      const { files, more } = await listFiles(context, scope, request);
      return { files: files.map(toMessage), more };
    }),
    // Each part is held in memory while it is sent, as a page is.
    readFile: listing(lists, async (request, apiKey, enter) => {
      const { scope } = await batchCaller(access, apiKey, false);
      await enter(scope.accountId);
      const { content, next } = await readFile(context, scope, request);
      return { content, nextCursor: next };
    }),
    deleteFile: unary(logger, async ({ id }, apiKey) => {
      await deleteFile(context, await batchCaller(access, apiKey, true), id);
      return {};
    }),
  };
}

function toMessage({ id, purpose, filename, bytes, createdAt, expiresAt }: AccountFile): File {
  return { id, purpose, filename, bytes, createTime: createdAt, expireTime: expiresAt ?? undefined };
}
