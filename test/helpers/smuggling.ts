/** Requests whose ends are not where they seem: whoever reads them otherwise than the part before it sees the hidden one. */

/** What must never be seen behind the edge. */
export const HIDDEN_PATH = '/hidden';
const hidden = `GET ${HIDDEN_PATH} HTTP/1.1\r\nhost: slipway\r\n\r\n`;

/** By name. `post` and `get`: paths; `auth`: header lines. */
export function smugglingCorpus({ post, get, auth }: { post: string; get: string; auth: string }): Record<string, string> {
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
