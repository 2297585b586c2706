/** Decides whether a series of a soak is flat. */

/** One measured value at a time of the soak. */
export interface Point {
  /** Minutes since the load began. */
  minute: number;
  value: number;
}

/** Growth of a series that still counts as flat. */
export interface Tolerance {
  /** Share of its median that it may grow by in an hour. */
  share: number;
  /** Growth in an hour that is always allowed, in the series' unit. */
  least: number;
}

/** The trend of a series over the second half of the soak. */
export interface Trend {
  /** Median of the second half. */
  median: number;
  /** Growth in an hour, in the series' unit: the median of the slopes of all pairs of points (Theil and Sen). */
  perHour: number;
  /** Allowed growth in an hour. */
  allowed: number;
  isFlat: boolean;
}

const MINUTES_PER_HOUR = 60;
/** Points at most, between which slopes are taken. */
const POINTS_MAX = 200;

/**
 * Returns the trend over the second half of the points. A few outliers, such as a redeploy, do not change the median of
 * slopes. A series that shrinks is flat.
 */
export function trendOf(points: readonly Point[], { share, least }: Tolerance): Trend {
  const half = secondHalf(points);
  const median = medianOf(half.map(({ value }) => value));
  const perHour = slopeOf(half) * MINUTES_PER_HOUR;
  const allowed = Math.max(share * Math.abs(median), least);
  return { median, perHour, allowed, isFlat: perHour <= allowed };
}

/** Returns the points of the second half of the time. */
function secondHalf(points: readonly Point[]): Point[] {
  const middle = (points.at(-1)?.minute ?? 0) / 2;
  const half = points.filter(({ minute }) => minute >= middle);
  const step = Math.ceil(half.length / POINTS_MAX);
  return half.filter((_, index) => index % step === 0);
}

/** Returns the median growth in a minute. */
function slopeOf(points: readonly Point[]): number {
  const slopes = points.flatMap((from, index) =>
    points
      .slice(index + 1)
      .filter((to) => to.minute > from.minute)
      .map((to) => (to.value - from.value) / (to.minute - from.minute)),
  );
  return medianOf(slopes);
}

/** Returns the median; 0 if there are no values. */
export function medianOf(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Returns a quantile, for example 0.99; 0 if there are no values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
