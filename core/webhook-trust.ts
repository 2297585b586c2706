/** Reads the operator's own authorities for webhooks from a file, and reads it again when it changes. */

import type { Service } from '@slipway/kit/lifecycle/service';
import type { CertificateWatchOptions } from '@slipway/kit/net/certificate-watch';
import { CertificateWatch } from '@slipway/kit/net/certificate-watch';
import type { Validity } from '@slipway/kit/net/renewed-files';
import { authorityFile } from '@slipway/kit/net/renewed-files';
import type { WebhookAuthorities } from './singleton-tasks/webhook-caller.ts';

/** Returns the authorities of webhooks and a watch that reports on their file. `file`: empty if there are none. */
export function webhookTrust(
  file: string,
  {
    more,
    ...parts
  }: Omit<CertificateWatchOptions, 'prefix' | 'check'> & {
    /** Returns the validity of other certificates of the process, by kind. */
    more(): Readonly<Record<string, Validity>>;
  },
): {
  authorities: WebhookAuthorities | undefined;
  watch: Service;
} {
  const source = file === '' ? undefined : authorityFile(file);
  const check = (): ReturnType<CertificateWatchOptions['check']> => {
    const validity = source && { authority: source.current().validity };
    return { version: source?.version ?? 1, fault: source?.fault, validity: { ...more(), ...validity } };
  };
  return { authorities: source, watch: new CertificateWatch({ ...parts, prefix: 'slipway_core', check }) };
}
