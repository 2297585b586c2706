/** Errors of HTTP itself, with statuses that the reasons of the contract do not have. */
import type { ErrorCode } from '@slipway/kit/net/error-help';
import { CoreError } from '@slipway/proto/wire/reason';

/** Options of an HTTP error. */
interface HttpRejectionOptions {
  /** HTTP status, 4xx. */
  status: number;
  /** Lower-case word for programs. */
  code: ErrorCode;
  /** Headers that guide the client: `allow`, `accept-encoding`, `connection`. */
  headers?: Readonly<Record<string, string>>;
  /** Faults of the request, if there may be several. */
  faults?: readonly string[];
}

export class HttpRejection extends CoreError {
  readonly code: ErrorCode;
  readonly headers: Readonly<Record<string, string>>;
  readonly faults: readonly string[] | undefined;
  readonly #status: number;

  constructor(message: string, { status, code, headers = {}, faults }: HttpRejectionOptions) {
    super('INVALID_REQUEST', message);
    this.#status = status;
    this.code = code;
    this.headers = headers;
    this.faults = faults;
  }

  override get httpStatus(): number {
    return this.#status;
  }
}
