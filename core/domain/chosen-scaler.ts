/** Which scaler decides. Pure. */
import { queueDelayScaler, requestCountScaler } from './scaler.ts';
import type { Scaler, ScaleSettings } from './scaler.ts';
import { sloScaler } from './slo-scaler.ts';

const SCALERS: Readonly<Record<ScaleSettings['scalerType'], Scaler>> = {
  QUEUE_DELAY: queueDelayScaler, REQUEST_COUNT: requestCountScaler, SLO: sloScaler,
};

/** The scaler that the owner chose. Another one can stand in its place. */
export const chosenScaler: Scaler = (sample, settings) => SCALERS[settings.scalerType](sample, settings);
