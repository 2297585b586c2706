/** Which scaler decides. Pure. */
import { inWordsOf, queueDelayScaler, requestCountScaler } from './scaler.ts';
import type { Scaler, ScaleSettings } from './scaler.ts';
import { sloScaler } from './slo-scaler.ts';

const SCALERS: Readonly<Record<ScaleSettings['scalerType'], Scaler>> = {
  QUEUE_DELAY: queueDelayScaler, REQUEST_COUNT: requestCountScaler, SLO: sloScaler,
};

/** The scaler that the owner chose. Another one can stand in its place. */
export const chosenScaler: Scaler = (sample, settings) => {
  const { workers, reason } = SCALERS[settings.scalerType](sample, settings);
  return { workers, reason: inWordsOf(settings, reason) };
};
