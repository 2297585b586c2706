/**
 * Sends requests of the playground to an endpoint's OpenAI routes, with the session of the page. Errors have texts for
 * people.
 */
import { askAnswer } from '../../lib/api.ts';
import type { AnswerHead, Reader } from '../load-balancing/lb-exchange.ts';
import { readHead, valueOf } from '../load-balancing/lb-exchange.ts';
import { headOf } from '../load-balancing/lb-request.ts';

/** An endpoint as far as its OpenAI routes depend on it. */
export interface OpenaiEndpoint {
  id: string;
  /** QB or LB. */
  type: string;
}

/** A request of an OpenAI client. */
export interface OpenaiRequest {
  /** Path after /v1, for example `/chat/completions`. */
  route: string;
  body: Readonly<Record<string, unknown>>;
}

/** Longest answer that is read, in characters. */
const ANSWER_MAX = 40_000_000;
const EVENT_END = /\r?\n\r?\n/;

/** Returns the path of an endpoint's OpenAI routes, after its id. */
export function openaiPath({ type }: Pick<OpenaiEndpoint, 'type'>): string {
  return type === 'LB' ? '/v1' : '/openai/v1';
}

/** Sends a request and returns the JSON of the answer. Throws an Error with a text for people. */
export async function askOpenai(
  endpoint: OpenaiEndpoint,
  request: OpenaiRequest,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const { pieces } = await send(endpoint, request, signal);
  return objectOf(await textOf(pieces));
}

/**
 * Sends a chat request and yields the text of the answer as it arrives. A worker that does not stream yields it at
 * once. Throws an Error with a text for people.
 */
export async function* askChat(
  endpoint: OpenaiEndpoint,
  request: OpenaiRequest,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const { head, pieces } = await send(endpoint, request, signal);
  if (!/^text\/event-stream/i.test(valueOf(head, 'content-type'))) {
    yield contentOf(objectOf(await textOf(pieces)), 'message');
    return;
  }
  let isOver = false;
  for await (const data of eventsOf(pieces)) {
    if (data === '[DONE]') return;
    const event = objectOf(data);
    const text = contentOf(event, 'delta');
    if (text !== '') yield text;
    isOver ||= choiceOf(event)?.['finish_reason'] != null;
  }
  if (!isOver) throw new Error('The answer is incomplete: its worker or a connection ended.');
}

/** An answer with a status below 400. */
interface Answer {
  head: AnswerHead;
  pieces: AsyncGenerator<string>;
}

async function send(endpoint: OpenaiEndpoint, { route, body }: OpenaiRequest, signal: AbortSignal): Promise<Answer> {
  const text = JSON.stringify(body);
  const path = `${openaiPath(endpoint)}${route}`;
  const asked = { method: 'POST', path, headers: '', kind: 'json', body: text } as const;
  const response = await askAnswer(`/api/lb/${endpoint.id}`, headOf(asked), text, signal);
  const reader = response.body!.getReader() as Reader;
  const { head, rest } = await readHead(reader);
  const pieces = textPieces(reader, rest);
  if (head.status < 400) return { head, pieces };
  throw new Error(`The endpoint answered ${head.status}: ${errorTextOf(await textOf(pieces)) || head.reason}`);
}

/** Yields the body as text. Leaving it early ends the request, so that its worker does not continue in vain. */
async function* textPieces(reader: Reader, rest: Uint8Array<ArrayBuffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let characters = 0;
  try {
    for (let piece: Uint8Array<ArrayBuffer> | undefined = rest; piece; piece = (await reader.read()).value) {
      const text = decoder.decode(piece, { stream: true });
      characters += text.length;
      if (characters > ANSWER_MAX) throw new Error('The answer is larger than a page keeps.');
      yield text;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  const all: string[] = [];
  for await (const piece of pieces) all.push(piece);
  return all.join('');
}

/** Yields the data of server-sent events. */
async function* eventsOf(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let kept = '';
  for await (const piece of pieces) {
    const events = (kept + piece).split(EVENT_END);
    kept = events.pop()!;
    for (const event of events) yield* dataOf(event);
  }
  yield* dataOf(kept);
}

function dataOf(event: string): string[] {
  const lines = event.split(/\r?\n/).filter((line) => line.startsWith('data:'));
  return lines.length === 0 ? [] : [lines.map((line) => line.slice(5).trimStart()).join('\n')];
}

/** Returns the object of a JSON text. Throws an Error if it is none, or holds an error. */
function objectOf(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(`The answer is not JSON: ${text.slice(0, 200)}`);
  }
  if (!isObject(value)) throw new Error(`The answer is not an object: ${text.slice(0, 200)}`);
  if (value['error'] != null) throw new Error(errorTextOf(text) || 'The endpoint answered with an error.');
  return value;
}

/** Returns the message of an error answer, whichever of the usual forms it has. */
function errorTextOf(text: string): string {
  try {
    const value = JSON.parse(text) as unknown;
    const error = isObject(value) ? (value['error'] ?? value['message'] ?? value['detail'] ?? value) : value;
    const message = isObject(error) ? (error['message'] ?? error) : error;
    return typeof message === 'string' ? message : JSON.stringify(message);
  } catch {
    return text.slice(0, 500);
  }
}

function choiceOf(answer: Record<string, unknown>): Record<string, unknown> | undefined {
  const { choices } = answer;
  const first: unknown = Array.isArray(choices) ? choices[0] : undefined;
  return isObject(first) ? first : undefined;
}

/** Returns the text of the first choice. Calls of tools are shown as JSON. */
function contentOf(answer: Record<string, unknown>, member: 'message' | 'delta'): string {
  const message = choiceOf(answer)?.[member];
  if (!isObject(message)) return '';
  const { content, tool_calls: calls } = message;
  if (typeof content === 'string' && content !== '') return content;
  return calls == null ? '' : JSON.stringify(calls);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
