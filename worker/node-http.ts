/**
 * Node's HTTP module without what an ES import of it also loads (kit/net/node-http.ts), which takes a third of the
 * processor time of a worker's start.
 */
export const { Agent, request } = process.getBuiltinModule('node:http');
