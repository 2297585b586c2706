/** Converts results of what-if questions to messages. */
import type { WhatIfPeriod as PeriodMessage, WhatIfResponse } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import type { WhatIf, WhatIfFigures, WhatIfPeriod } from '../../domain/scaling/model/what-if.ts';

export function whatIfToMessage({ periods, total, replayed, changed, notes }: WhatIf): WhatIfResponse {
  return {
    periods: periods.map(periodToMessage),
    total: total && periodToMessage(total),
    replayedDecisions: replayed,
    changedDecisions: changed,
    notes,
  };
}

function periodToMessage({ fromMs, untilMs, jobs, measured, asItWas, wouldBe }: WhatIfPeriod): PeriodMessage {
  const whole = (figures: WhatIfFigures): WhatIfFigures => ({ ...figures, p95WaitMs: Math.round(figures.p95WaitMs) });
  return {
    startTime: new Date(fromMs),
    endTime: new Date(untilMs),
    jobs,
    measured: whole(measured),
    asItWas: whole(asItWas),
    wouldBe: whole(wouldBe),
  };
}
