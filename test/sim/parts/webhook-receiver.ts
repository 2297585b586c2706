/**
 * Stands for the HTTP client of webhooks in the simulation (loader.ts): a call arrives, or is lost, or is refused, in
 * virtual time.
 */
interface Reply {
  statusCode: number;
  body: { dump(): Promise<void> };
}

/** Receives calls. Returns the status of the answer after its time; rejects if the answer is lost. */
export const receiver = {
  receive: async (_url: string, _body: Buffer): Promise<number> => 200,
};

export class Agent {
  async close(): Promise<void> {}
  async destroy(): Promise<void> {}
}

export async function request(url: string, { body }: { body: Buffer }): Promise<Reply> {
  const statusCode = await receiver.receive(url, body);
  return { statusCode, body: { dump: async () => undefined } };
}
