/** Ids of requests: what the operator finds a failed request by. They stand in each line of the log about one and in every error's answer. */
import type { IncomingMessage } from 'node:http';
import type { Random } from '../../core/runtime/clock.ts';

/** Of requests and answers. */
export const REQUEST_ID_HEADER = 'x-request-id';
/** A client's or proxy's own id is kept when it looks like this. */
const GIVEN = /^[\w.:-]{1,128}$/;

/** Makes the id of each request: a part that is this process's, and a number. */
export function requestIds(random: Random): (request: Pick<IncomingMessage, 'headers'>) => string {
  const process = random.id(10);
  let count = 0;
  return ({ headers }) => {
    const given = headers[REQUEST_ID_HEADER];
    return typeof given === 'string' && GIVEN.test(given) ? given : `${process}-${count += 1}`;
  };
}
