/** Filters of the lists of the overview and of machines. */

import type { Filter } from './listing-parts.tsx';
import { YES_NO } from './listing-parts.tsx';

/** Filters of an account's endpoints. */
export const ENDPOINT_FILTERS: readonly Filter[] = [
  {
    name: 'filter.type',
    text: 'Type',
    choices: [
      ['QB', 'queue'],
      ['LB', 'load balancing'],
    ],
  },
  {
    name: 'filter.compute',
    text: 'Runs on',
    choices: [
      ['GPU', 'GPUs'],
      ['CPU', 'processors'],
    ],
  },
  { name: 'filter.paused', text: 'Paused', choices: YES_NO },
  {
    name: 'filter.trouble',
    text: 'Trouble',
    choices: [
      ['no_place', 'workers not placed'],
      ['crashed', 'crashed workers'],
      ['webhooks', 'webhook calls given up'],
    ],
  },
];

/** Filters of machines. */
export const MACHINE_FILTERS: readonly Filter[] = [
  {
    name: 'filter.state',
    text: 'State',
    choices: [
      ['here', 'connected'],
      ['away', 'away'],
      ['cordoned', 'cordoned'],
      ['revoked', 'key revoked'],
    ],
  },
  { name: 'filter.gpu', text: 'GPU type' },
];
