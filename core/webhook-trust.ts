/** Authorities of an operator's own that count for webhooks, from a file that is read anew when it changes. */
import { authorityFile } from '../proto/wire/renewed-files.ts';
import type { WebhookAuthorities } from './duties/webhook-caller.ts';
import type { CertificateWatchOptions } from './runtime/certificate-watch.ts';
import { CertificateWatch } from './runtime/certificate-watch.ts';
import type { Service } from './runtime/service.ts';

/** `file`: empty if there are none. `watch` reports on the file. */
export function webhookTrust(
  file: string,
  parts: Omit<CertificateWatchOptions, 'prefix' | 'check'>,
): {
  authorities: WebhookAuthorities | undefined;
  watch: Service;
} {
  const source = file === '' ? undefined : authorityFile(file);
  const check = (): ReturnType<CertificateWatchOptions['check']> => {
    const validity = source && { authority: source.current().validity };
    return { version: source?.version ?? 1, fault: source?.fault, validity: validity ?? {} };
  };
  return { authorities: source, watch: new CertificateWatch({ ...parts, prefix: 'slipway_core', check }) };
}
