/** Addresses that problems are sent to, as the console's server sends them to its page. Times are ms since 1970. */
export interface AlertTargetView {
  id: string;
  name: string;
  kind: AlertTargetKindName;
  /** Scheme and host of its URL. The whole URL is secret and never sent. Of kind email: the mail address. */
  host: string;
  /** Time until which it gets nothing. 0: it is not silent. */
  silentUntilMs: number;
  /** Time of the last message that it took. 0: none. */
  deliveredMs: number;
  /** Why the latest message failed. Empty if it did not. */
  lastError: string;
}

/** Format of the messages to an address. */
export type AlertTargetKindName = 'webhook' | 'slack' | 'email';

/** Result of a test message: the reason why it was not taken, empty if it was. */
export interface AlertTestView {
  error: string;
}
