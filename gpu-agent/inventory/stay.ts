/** How long this machine stays. */
import type { EnvReader } from '@slipway/kit/host/env';

/** Settings of a machine that stays for a time. */
export interface StaySettings {
  /** It is forgotten when it stops. SLIPWAY_AGENT_EPHEMERAL, default false; true with SLIPWAY_AGENT_UNTIL. */
  ephemeral: boolean;
  /** Time at which it stops. SLIPWAY_AGENT_UNTIL, as 2026-12-01T08:00:00Z. Default: none. */
  until: Date | undefined;
}

/** Reads the settings. */
export function readStay(reader: EnvReader): StaySettings {
  const text = reader.text('SLIPWAY_AGENT_UNTIL', '');
  const ephemeral = reader.flag('SLIPWAY_AGENT_EPHEMERAL', false);
  if (text === '') return { ephemeral, until: undefined };
  const until = new Date(text);
  if (!/^\d{4}-\d\d-\d\dT/.test(text) || Number.isNaN(until.getTime()))
    reader.fault(`SLIPWAY_AGENT_UNTIL is ${JSON.stringify(text)}, but must be a time as 2026-12-01T08:00:00Z`);
  return { ephemeral: true, until };
}
