/** `slipway decisions --what-if`: the effect of other settings on past traffic, beside what happened. */

import type { FieldChanges } from '@slipway/facades/resources/mask-fields';
import { change, noChanges } from '@slipway/facades/resources/mask-fields';
import { printable } from '@slipway/kit/log/printable';
import { Endpoint, FlashBootType, ScalerType } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { WhatIfFigures, WhatIfPeriod } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import { InvalidArgumentError } from 'commander';
import type { Cli } from '../cli.ts';
import { oneOf, wholeNumber } from '../option-values.ts';
import { endpointIdOf } from '../shared/find-endpoint.ts';

const WHOLE = ['workersMin', 'workersMax', 'idleTimeoutSeconds', 'scalerValue'] as const;
const SCALERS = {
  'queue-delay': ScalerType.QUEUE_DELAY,
  'request-count': ScalerType.REQUEST_COUNT,
  slo: ScalerType.SLO,
};
const FLASH_BOOTS = { off: FlashBootType.OFF, flashboot: FlashBootType.FLASHBOOT };

/** Reads `name=value,name=value`. */
export function readSettings(text: string): FieldChanges<Endpoint> {
  const changes = noChanges<Endpoint>();
  for (const part of text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')) {
    const [given, value = '', ...more] = part.split('=');
    const name = given === 'idleTimeout' ? 'idleTimeoutSeconds' : given;
    const whole = WHOLE.find((known) => known === name);
    if (value === '' || more.length > 0)
      throw new InvalidArgumentError('Settings must be given as name=value, with commas between them.');
    if (whole) change(changes, whole, wholeNumber()(value));
    else if (name === 'scalerType') change(changes, name, oneOf(SCALERS)(value.replaceAll('_', '-')));
    else if (name === 'flashBootType') change(changes, name, oneOf(FLASH_BOOTS)(value));
    else throw new InvalidArgumentError(`It may name ${WHOLE.join(', ')}, scalerType and flashBootType.`);
  }
  return changes;
}

/** Requests the comparison and shows it. */
export async function showWhatIf(
  cli: Cli,
  named: string | undefined,
  { changes, mask }: FieldChanges<Endpoint>,
  hours: number,
): Promise<void> {
  const id = await endpointIdOf(cli, named);
  const request = { endpoint: Endpoint.fromPartial({ ...changes, id }), updateMask: mask, hours };
  const answer = await cli.core.endpoints.call((client) => client.whatIf, request);
  const { output } = cli;
  output.result(answer, () => {
    const { periods, total, notes, replayedDecisions, changedDecisions } = answer;
    if (total) showPeriods(cli, [...periods, total]);
    output.line(
      `\n${changedDecisions} of ${replayedDecisions} recorded decisions would have come to another number of workers.`,
    );
    for (const note of notes) output.line(printable(note));
  });
}

/**
 * Prints a table with three columns per figure: measured, modelled with the settings of that time, and modelled with
 * the other settings. The last row is the total.
 */
function showPeriods({ output }: Cli, periods: readonly WhatIfPeriod[]): void {
  const whole = periods.at(-1)!;
  const gpus = whole.measured!.gpuSeconds > 0 || whole.wouldBe!.gpuSeconds > 0;
  const figure = (title: string, text: (figures: WhatIfFigures) => string) => [
    { title: `${title}: was`, right: true, text: ({ measured }: WhatIfPeriod) => text(measured!) },
    { title: 'modelled', right: true, text: ({ asItWas }: WhatIfPeriod) => text(asItWas!) },
    { title: 'would be', right: true, text: ({ wouldBe }: WhatIfPeriod) => text(wouldBe!) },
  ];
  output.table<WhatIfPeriod>(
    [
      { title: 'from', text: (period) => (period === whole ? 'all' : period.startTime!.toISOString().slice(0, 19)) },
      { title: 'jobs', right: true, text: ({ jobs }) => String(jobs) },
      ...figure('workers', ({ workers }) => workers.toFixed(1)),
      ...figure('p95 wait', ({ p95WaitMs }) => `${(p95WaitMs / 1_000).toFixed(1)} s`),
      ...figure(`${gpus ? 'GPU' : 'worker'} seconds`, ({ gpuSeconds, workerSeconds }) =>
        String(Math.round(gpus ? gpuSeconds : workerSeconds)),
      ),
    ],
    periods,
    '',
  );
}
