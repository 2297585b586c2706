/** Reads lists that come in pages. */

/** Request of a page. */
export interface PageRequest {
  /** Empty: the first page. */
  pageToken: string;
}

/** Yields the pages of a list, starting at `first`. Each is requested when the previous one was used. */
export async function* eachPage<Response extends { nextPageToken: string }>(
  read: (page: PageRequest) => Promise<Response>,
  first = '',
): AsyncGenerator<Response, void, undefined> {
  let pageToken = first;
  do {
    const response = await read({ pageToken });
    yield response;
    pageToken = response.nextPageToken;
  } while (pageToken !== '');
}

/** Returns all entries of a list, page by page. For callers that read one list at a time. */
export async function allPages<Response extends { nextPageToken: string }, Entry>(
  read: (page: PageRequest) => Promise<Response>,
  entriesOf: (response: Response) => Entry[],
): Promise<Entry[]> {
  const all: Entry[] = [];
  for await (const response of eachPage(read)) all.push(...entriesOf(response));
  return all;
}
