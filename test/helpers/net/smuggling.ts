/** Makes smuggled requests. Parts that disagree about the end of a request would see the hidden one. */

/** Path that must never arrive behind the edge. */
export const HIDDEN_PATH = '/hidden';
const hidden = `GET ${HIDDEN_PATH} HTTP/1.1\r\nhost: slipway\r\n\r\n`;

/** Returns smuggling requests by name. `post` and `get` are paths; `auth` is header lines. */
export function smugglingCorpus({
  post,
  get,
  auth,
}: {
  post: string;
  get: string;
  auth: string;
}): Record<string, string> {
  const begin = `POST ${post} HTTP/1.1\r\nhost: a\r\n${auth}`;
  return {
    'CL.TE': `${begin}content-length: ${hidden.length + 5}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
    'TE.CL': `${begin}transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n5c\r\n${hidden}\r\n0\r\n\r\n`,
    'two lengths': `${begin}content-length: 2\r\ncontent-length: 40\r\n\r\n{}${hidden}`,
    'obscured chunked': `${begin}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n${hidden}`,
    'chunked twice': `${begin}transfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\n${hidden}`,
    'blank before colon': `${begin}transfer-encoding : chunked\r\n\r\n0\r\n\r\n${hidden}`,
    'folded header': `${begin}transfer-encoding:\r\n chunked\r\ncontent-length: 2\r\n\r\n{}${hidden}`,
    'negative chunk': `${begin}transfer-encoding: chunked\r\n\r\n-1\r\n{}\r\n0\r\n\r\n`,
    'huge chunk': `${begin}transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}\r\n0\r\n\r\n`,
    'bare line feeds in chunks': `${begin}transfer-encoding: chunked\r\n\r\n2\n{}\n0\n\n${hidden}`,
    'two hosts': `GET ${get} HTTP/1.1\r\nhost: a\r\nhost: b\r\n${auth}\r\n`,
    'nul in a header': `GET ${get} HTTP/1.1\r\nhost: a\r\nx: a\0b\r\n${auth}\r\n`,
  };
}

const HIDDEN = `GET ${HIDDEN_PATH} HTTP/1.1\r\nhost: x\r\n\r\n`;

/**
 * Requests with an ambiguous end, valid ones among them: their heads without Host and key, and the bytes that follow.
 */
const HIDING: Record<string, [method: string, head: string, rest: string]> = {
  'CL.TE': ['POST', `content-length: ${HIDDEN.length + 5}\r\ntransfer-encoding: chunked\r\n`, `0\r\n\r\n${HIDDEN}`],
  'TE.CL': [
    'POST',
    'transfer-encoding: chunked\r\ncontent-length: 4\r\n',
    `${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n`,
  ],
  'TE.TE': ['POST', 'transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n', `0\r\n\r\n${HIDDEN}`],
  'two lengths': ['POST', 'content-length: 2\r\ncontent-length: 40\r\n', `{}${HIDDEN}`],
  'two lengths in one': ['POST', `content-length: 2, ${HIDDEN.length + 2}\r\n`, `{}${HIDDEN}`],
  'a length with a sign': ['POST', 'content-length: +2\r\n', `{}${HIDDEN}`],
  'a length with an underscore': ['POST', `content_length: ${HIDDEN.length}\r\n`, HIDDEN],
  'obscured chunked': ['POST', 'transfer-encoding: xchunked\r\n', `0\r\n\r\n${HIDDEN}`],
  'chunked twice': ['POST', 'transfer-encoding: chunked, chunked\r\n', `0\r\n\r\n${HIDDEN}`],
  'chunked is not last': ['POST', 'transfer-encoding: chunked, gzip\r\n', `0\r\n\r\n${HIDDEN}`],
  'blank before colon': ['POST', 'transfer-encoding : chunked\r\n', `0\r\n\r\n${HIDDEN}`],
  'folded header': ['POST', 'transfer-encoding:\r\n chunked\r\ncontent-length: 2\r\n', `{}${HIDDEN}`],
  'tabulator in the coding': ['POST', 'transfer-encoding:\tchunked\x0b\r\n', `0\r\n\r\n${HIDDEN}`],
  'negative chunk': ['POST', 'transfer-encoding: chunked\r\n', `-1\r\n{}\r\n0\r\n\r\n${HIDDEN}`],
  'huge chunk': ['POST', 'transfer-encoding: chunked\r\n', `fffffffffffffffff\r\n{}\r\n0\r\n\r\n${HIDDEN}`],
  'chunk with a prefix': ['POST', 'transfer-encoding: chunked\r\n', `0x2\r\n{}\r\n0\r\n\r\n${HIDDEN}`],
  'bare line feeds in chunks': ['POST', 'transfer-encoding: chunked\r\n', `2\n{}\n0\n\n${HIDDEN}`],
  'a line feed in an extension': ['POST', 'transfer-encoding: chunked\r\n', `2;\nxx\r\n{}\r\n0\r\n\r\n${HIDDEN}`],
  'a chunk longer than it says': ['POST', 'transfer-encoding: chunked\r\n', `2\r\n{}xx\r\n0\r\n\r\n${HIDDEN}`],
  'a request in the trailers': ['POST', 'transfer-encoding: chunked\r\n', `2\r\n{}\r\n0\r\nx: y\n\n${HIDDEN}\r\n`],
  'its length taken away': ['GET', `content-length: ${HIDDEN.length}\r\nconnection: content-length\r\n`, HIDDEN],
  'its length taken away, in capitals': [
    'DELETE',
    `content-length: ${HIDDEN.length}\r\nConnection: close, Content-Length\r\n`,
    HIDDEN,
  ],
  'its coding taken away': [
    'GET',
    'transfer-encoding: chunked\r\nconnection: transfer-encoding\r\n',
    `${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n`,
  ],
  'a body of a GET': ['GET', `content-length: ${HIDDEN.length}\r\n`, HIDDEN],
  'an upgrade with a body': [
    'GET',
    `connection: upgrade\r\nupgrade: websocket\r\ncontent-length: ${HIDDEN.length}\r\n`,
    HIDDEN,
  ],
  'an upgrade to HTTP/2': [
    'GET',
    'connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n',
    HIDDEN,
  ],
  'a bare carriage return in a header': ['GET', 'x: a\rtransfer-encoding: chunked\r\n', HIDDEN],
  'nul in a header': ['GET', 'x: a\0b\r\n', HIDDEN],
  'a line feed in the path': ['GET', 'x: y\r\n', HIDDEN],
};

/** Returns each request with its name, for one path and one key. A worker may see this path only. */
export function hidingRequests(path: string, key: string): [name: string, text: string][] {
  return Object.entries(HIDING).map(([name, [method, head, rest]]) => {
    const at = name === 'a line feed in the path' ? `${path}\nGET ${HIDDEN_PATH}` : path;
    return [name, `${method} ${at} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\n${head}\r\n${rest}`];
  });
}
