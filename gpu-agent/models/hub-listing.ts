/** Reads the hub's description of a revision: its commit and its files. Pure. */
import { isCommit } from './model-name.ts';
import { FILES_MAX, isDigest } from './model-record.ts';

/** A file as the hub lists it. Some mirrors leave size and digest out. */
export interface ListedFile {
  path: string;
  sizeBytes: number | undefined;
  digest: string | undefined;
}

/** A revision of a repository. */
export interface HubListing {
  commit: string;
  /** The hub gives its files only to those who were let in. */
  gated: boolean;
  files: ListedFile[];
}

interface Sibling {
  rfilename?: unknown;
  size?: unknown;
  blobId?: unknown;
  lfs?: { sha256?: unknown; oid?: unknown; size?: unknown } | null;
}

/** Reads the response of `/api/models/REPOSITORY/revision/REVISION`. `undefined` if it is none. */
export function parseListing(text: string): HubListing | undefined {
  let value: { sha?: unknown; gated?: unknown; private?: unknown; siblings?: unknown };
  try {
    value = JSON.parse(text) as typeof value;
  } catch {
    return undefined;
  }
  const { sha, gated, siblings } = value ?? {};
  if (typeof sha !== 'string' || !isCommit(sha) || !Array.isArray(siblings)) return undefined;
  // One more than allowed is enough to reject it.
  const files = (siblings as Sibling[]).slice(0, FILES_MAX + 1).map(listed);
  if (files.some((file) => file === undefined)) return undefined;
  return { commit: sha, gated: Boolean(gated) || value.private === true, files: files as ListedFile[] };
}

function listed({ rfilename, size, blobId, lfs }: Sibling): ListedFile | undefined {
  if (typeof rfilename !== 'string') return undefined;
  const sha256 = digestOf(lfs?.sha256) ?? digestOf(lfs?.oid);
  return {
    path: rfilename,
    sizeBytes: sizeOf(lfs?.size) ?? sizeOf(size),
    // A file in LFS also has the blob id of its pointer, which is no digest of its content.
    digest: lfs ? sha256 : digestOf(blobId),
  };
}

function digestOf(value: unknown): string | undefined {
  return typeof value === 'string' && isDigest(value) ? value : undefined;
}

function sizeOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Reads an entity tag: `"abc"`, or `W/"abc"`. `undefined` if it is no digest. */
export function digestOfTag(tag: string | string[] | undefined): string | undefined {
  const [text] = Array.isArray(tag) ? tag : [tag];
  return digestOf(text?.replace(/^W\//, '').replace(/^"|"$/g, ''));
}
