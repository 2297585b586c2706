/**
 * Resources of REST v2 that do not exist on one's own machines: lists are empty, and creating or changing something is
 * rejected with an explanation.
 */

import type { ErrorCode } from '@slipway/kit/net/error-help';
import { helpLink } from '@slipway/kit/net/help-link';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import type { Operation } from '../operation.ts';
import { operation } from '../operation.ts';
import { answerPage, listOf, PageQuery } from '../pages.ts';
import { named } from '../schema-parts.ts';

/** A kind of resource that does not exist here. */
interface Kind {
  /** First segment of the path, and key of the list. */
  word: string;
  /** Name in the ids of operations. */
  name: string;
  sentence: string;
}

const KINDS: readonly Kind[] = [
  {
    word: 'clusters',
    name: 'Cluster',
    sentence: 'Clusters are not made here: each pod runs on one machine; POST /v2/pods makes one.',
  },
  { word: 'tags', name: 'Tag', sentence: 'Tags are not kept here: tell things apart by their names.' },
  { word: 'sandboxes', name: 'Sandbox', sentence: 'Sandboxes are not made here: POST /v2/pods makes a pod.' },
];

/** The operations. */
export const nothingHere: readonly Operation[] = KINDS.flatMap(({ word, name, sentence }) => {
  const shape = named(name, Type.Object({ id: Type.String() }));
  const one = `/v2/${word}/{${name.toLowerCase()}Id}`;
  const refused = (id: string, method: Operation['method'], path: string): Operation =>
    operation({
      tag: 'not here',
      id,
      method,
      path,
      summary: `Refused. ${sentence}`,
      status: 501,
      handle: async ({ reply }) => reject(reply, sentence),
    });
  return [
    operation({
      tag: 'not here',
      id: `List${name}s`,
      method: 'GET',
      path: `/v2/${word}`,
      summary: `Empty. ${sentence}`,
      query: Type.Object({ ...PageQuery.properties }),
      status: 200,
      answer: named(`List${name}sResponse`, listOf(word, shape, 'Always empty.')),
      handle: (call) =>
        answerPage(call, `List${name}s`, word, { read: async () => ({ nextPageToken: '' }), present: () => [] }),
    }),
    refused(`Create${name}`, 'POST', `/v2/${word}`),
    operation({
      tag: 'not here',
      id: `Get${name}`,
      method: 'GET',
      path: one,
      summary: `There is none. ${sentence}`,
      status: 200,
      answer: shape,
      handle: async () => {
        throw new CoreError('NOT_FOUND', `There is no such thing. ${sentence}`);
      },
    }),
    refused(`Update${name}`, 'PATCH', one),
    refused(`Delete${name}`, 'DELETE', one),
  ];
});

async function reject(reply: FastifyReply, detail: string): Promise<unknown> {
  const code: ErrorCode = 'not_implemented';
  const problem = { title: 'Not Implemented', status: 501, detail, code };
  reply.header('link', helpLink(code));
  return reply.code(501).type('application/problem+json; charset=utf-8').send(JSON.stringify(problem));
}
