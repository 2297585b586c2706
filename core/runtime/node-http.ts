/**
 * Node's HTTP. An ES import of `node:http` reads each of its names, WebSocket's among them, for which Node loads all of its fetch: 40 ms of processor at
 * the start of every process. Types are imported from there as usual.
 */
export const { Agent, ServerResponse, createServer, request } = process.getBuiltinModule('node:http');
