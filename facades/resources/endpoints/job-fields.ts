/** Settings of endpoints about how their jobs are kept and retried. */
import type { Field } from '../field.ts';
import { DURABLE, HANDLER_RETRIES, RETRIES } from './endpoint-texts.ts';

/** As in the table of endpoints. */
export const JOB_FIELDS = {
  retryLimit: {
    kind: { is: 'whole' },
    rest: { name: 'retryLimit', in: `${RETRIES} Default {default}. An extension.`, out: `${RETRIES} An extension.` },
    graphql: { name: 'retryLimit', in: `${RETRIES} Default {default}. An extension.`, out: `${RETRIES} An extension.` },
    cli: {
      option: '--retry-limit <number>',
      about: 'how often a job whose worker was lost is put back; default {default}',
    },
  },
  retryHandlerErrors: {
    kind: { is: 'flag' },
    rest: {
      name: 'retryHandlerErrors',
      in: `${HANDLER_RETRIES} Default {default}. An extension.`,
      out: `${HANDLER_RETRIES} An extension.`,
    },
    graphql: {
      name: 'retryHandlerErrors',
      in: `${HANDLER_RETRIES} Default {default}. An extension.`,
      out: `${HANDLER_RETRIES} An extension.`,
    },
    cli: {
      option: '--retry-handler-errors',
      about: 'also put back jobs whose handler reported an error',
      off: 'such jobs are FAILED (default)',
    },
  },
  durableBeforeRun: {
    kind: { is: 'flag' },
    rest: {
      name: 'durableBeforeRun',
      in: `${DURABLE} Default {default}. An extension.`,
      out: `${DURABLE} An extension.`,
    },
    graphql: {
      name: 'durableBeforeRun',
      in: `${DURABLE} Default {default}. An extension.`,
      out: `${DURABLE} An extension.`,
    },
    cli: {
      option: '--durable-before-run',
      about: 'store every job before it runs, short ones of /runsync too',
      off: 'these are stored with their outcome (default)',
    },
  },
} as const satisfies Record<string, Field>;
