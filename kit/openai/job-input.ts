/** Input of the job of an OpenAI request, as OpenAI-speaking workers expect it (docs/reference/api.md#openai). */

const CLOSE = Buffer.from('}');

/** Returns the input: the route and the pieces of the body, which together are a JSON text. */
export function openaiJobInput(route: string, body: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from(`{"openai_route":${JSON.stringify(route)},"openai_input":`), ...body, CLOSE]);
}
