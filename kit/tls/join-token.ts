/**
 * Text of a token by which a machine joins: `sjt_ID_SECRET_AUTHORITY`. The last part is the digest of the authority
 * that the machine is to trust, in base64url, or `system` where core shows a certificate of the operator's.
 */
const FORM = /^sjt_([a-z0-9]{12})_([A-Za-z0-9]{32})_([A-Za-z0-9_-]{43}|system)$/;
export const TOKEN_SECRET_LENGTH = 32;
const SYSTEM = 'system';

/** Parts of the text. */
interface JoinTokenText {
  id: string;
  /** 32 letters and digits. */
  secret: string;
  /** SHA-256 of the authority's certificate in hexadecimal digits. `undefined`: trust is not the token's matter. */
  authority: string | undefined;
}

/** Returns the parts. `undefined` if the text is no token. */
export function readJoinToken(text: string): JoinTokenText | undefined {
  const [, id, secret, authority] = FORM.exec(text) ?? [];
  if (id === undefined || secret === undefined || authority === undefined) return undefined;
  const digest = authority === SYSTEM ? undefined : Buffer.from(authority, 'base64url').toString('hex');
  return { id, secret, authority: digest };
}

/** Returns the text. */
export function joinTokenText({ id, secret, authority }: JoinTokenText): string {
  const trusted = authority === undefined ? SYSTEM : Buffer.from(authority, 'hex').toString('base64url');
  return `sjt_${id}_${secret}_${trusted}`;
}
