/**
 * Node's HTTP, without what an ES import of it loads besides (kit/net/node-http.ts): a third of the processor time
 * of a worker's start.
 */
export const { Agent, request } = process.getBuiltinModule('node:http');
