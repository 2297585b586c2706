/**
 * Shrinks a run that fails to few of its faults. A run without some faults is another run from the first of these on,
 * so a part counts only if its run breaks the same rule.
 */

/** A fault that happened. `index`: its place among all that the seed has chosen. */
export interface ChosenFault {
  index: number;
  /** When, what and where. */
  text: string;
}

/** A run with some of the chosen faults: what happened, and the rules that it broke. */
interface PartialRun {
  faults: readonly ChosenFault[];
  rules: readonly string[];
}

interface ShrinkOptions {
  /** Faults of the run that failed. */
  faults: readonly ChosenFault[];
  /** A rule that it broke. */
  rule: string;
  /** Runs that may be made. */
  runsMax: number;
  /** Runs the seed again, with these of its faults only. */
  run(only: ReadonlySet<number>): Promise<PartialRun>;
}

/** Returns fewer faults with which the rule is still broken. */
export async function shrink({ faults, rule, runsMax, run }: ShrinkOptions): Promise<readonly ChosenFault[]> {
  let left = faults;
  let runs = 0;
  /** Keeps a part if its run still fails. */
  const keeps = async (part: readonly ChosenFault[]): Promise<boolean> => {
    runs += 1;
    const result = await run(new Set(part.map(({ index }) => index)));
    if (!result.rules.includes(rule)) return false;
    left = result.faults;
    return true;
  };
  // Faults after the violation matter least, and without them the run is the same until then.
  let passing = 0;
  while (left.length > passing && runs < runsMax) {
    const middle = Math.floor((passing + left.length) / 2);
    if (!(await keeps(left.slice(0, middle)))) passing = middle + 1;
  }
  let size = Math.ceil(left.length / 2);
  while (left.length > 0 && runs < runsMax) {
    for (let from = left.length - size; from > -size && runs < runsMax; from -= size)
      await keeps(left.filter((_, at) => at < from || at >= from + size));
    if (size === 1) break;
    size = Math.ceil(size / 2);
  }
  return left;
}
