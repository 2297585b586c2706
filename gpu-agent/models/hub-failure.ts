/** Says to an endpoint's owner why a hub did not give a model. Pure. */
import { HubError, mayNeedToken } from './hub-error.ts';
import { ModelError } from './model-error.ts';

const NOT_FOUND = 404;
const REASON_CHARS_MAX = 300;

/** A request of a hub that failed. */
interface FailedRequest {
  error: unknown;
  /** The hub's host. */
  hub: string;
  repository: string;
  revision: string;
  /** A token was sent. */
  hasToken: boolean;
}

/** Returns the error for the owner. */
export function hubFailure({ error, hub, repository, revision, hasToken }: FailedRequest): ModelError {
  if (error instanceof ModelError) return error;
  if (error instanceof HubError && error.status === NOT_FOUND) {
    const hidden = hasToken ? 'hides it from the token in HF_TOKEN' : 'hides it without a token (HF_TOKEN)';
    return new ModelError(
      'NOT_FOUND',
      `${hub} has no model ${repository} with the revision ${revision}, or ${hidden}: check the name and the revision`,
    );
  }
  if (mayNeedToken(error)) {
    const advice = hasToken
      ? 'the token in HF_TOKEN may not read it: accept its terms on the hub, or use another token'
      : "it is gated or private: set HF_TOKEN in the endpoint's environment to a token that may read it";
    return new ModelError('FORBIDDEN', `${hub} does not give ${repository}: ${advice}`);
  }
  const reason = (error instanceof Error ? error.message : String(error)).slice(0, REASON_CHARS_MAX);
  return new ModelError(
    'UNREACHABLE',
    `${repository} could not be downloaded from ${hub} (${reason}): it is tried again`,
  );
}
