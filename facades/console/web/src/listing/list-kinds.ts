/** Requests and columns of each list. */

import type { Filter } from './listing-parts.tsx';
import { YES_NO } from './listing-parts.tsx';

/** A kind of list. */
export interface Kind {
  title: string;
  path: string;
  columns: readonly string[];
  /** Core's order by column. */
  orders: Readonly<Record<string, string>>;
  /** Initial order. Default: core's. */
  first?: { order: string; descending: boolean };
  /** Whether the whole list is shown, without a search. */
  isWhole?: boolean;
  /** Fields by which the list can be filtered. */
  filters?: readonly Filter[];
  /** Columns and filters that only the operator sees. */
  ofOperator?: readonly string[];
  /** Text for an empty list. */
  empty: string;
  /** Command line that creates an entry. */
  command?: string;
  /** Whether the page also shows where problems are sent. */
  hasTargets?: boolean;
  /** Path of the pages of single entries, before the id. */
  page?: string;
  /** Part of the live feed that updates the list. Default: none; the list stays as it was when it was requested. */
  live?: 'pods';
  /** Form that creates an entry. Entries with a form can also be changed or deleted. */
  form?: 'template' | 'volume' | 'registry' | 'secret' | 'pod' | 'key' | 'account' | 'price';
}

/** Order with the newest entry first. */
const NEWEST = { order: 'created', descending: true };

/** Lists by the name in the path. */
export const KINDS: Readonly<Record<string, Kind>> = {
  templates: {
    title: 'Templates',
    path: '/api/templates',
    columns: ['name', 'imageName', 'isServerless', 'isPublic', 'containerDiskInGb', 'volumeInGb', 'id'],
    orders: { name: 'name', imageName: 'image', isServerless: 'kind' },
    first: NEWEST,
    filters: [
      {
        name: 'filter.kind',
        text: 'For',
        choices: [
          ['worker', 'workers'],
          ['pod', 'pods'],
        ],
      },
      { name: 'filter.public', text: 'Public', choices: YES_NO },
    ],
    form: 'template',
    empty: 'Templates define what workers and pods run.',
    command: 'npx slipway templates create --help',
  },
  pods: {
    title: 'Pods',
    path: '/api/pods',
    columns: ['name', 'state', 'image', 'gpuCount', 'costPerHr', 'lastStatusChange', 'id'],
    orders: { name: 'name', state: 'state', image: 'image', gpuCount: 'gpus', lastStatusChange: 'changed' },
    first: NEWEST,
    filters: [
      {
        name: 'filter.state',
        text: 'State',
        choices: [
          ['STARTING', 'starting'],
          ['RUNNING', 'running'],
          ['EXITED', 'exited'],
          ['FAILED', 'failed'],
        ],
      },
    ],
    form: 'pod',
    page: '/pods',
    live: 'pods',
    empty: 'Pods are processes that keep running.',
    command: 'npx slipway pods create --help',
  },
  volumes: {
    title: 'Network volumes',
    path: '/api/volumes',
    columns: ['name', 'size', 'dataCenterId', 'created', 'id'],
    orders: { name: 'name', size: 'size', dataCenterId: 'data_center', created: 'created' },
    first: NEWEST,
    filters: [{ name: 'filter.data_center', text: 'Data centre' }],
    form: 'volume',
    empty: 'Network volumes outlive workers and pods.',
    command: 'npx slipway volumes create --help',
  },
  registries: {
    title: 'Registry credentials',
    path: '/api/registries',
    columns: ['name', 'created', 'id'],
    orders: { name: 'name', created: 'created' },
    first: NEWEST,
    form: 'registry',
    empty: 'Machines use them to pull private images.',
    command: 'npx slipway registry-auths create --help',
  },
  secrets: {
    title: 'Secrets',
    path: '/api/secrets',
    columns: ['name', 'description', 'usedBy', 'valueSet', 'created', 'id'],
    orders: { name: 'name', valueSet: 'changed', created: 'created' },
    first: NEWEST,
    form: 'secret',
    empty: 'Environment variables refer to a secret as {{ RUNPOD_SECRET_name }}. Workers and pods get its value.',
    command: 'npx slipway secrets set --help',
  },
  keys: {
    title: 'Keys',
    path: '/api/keys',
    columns: ['name', 'may', 'endpoints', 'belongsTo', 'created', 'revoked', 'id'],
    orders: { name: 'name', may: 'scope', created: 'created' },
    first: NEWEST,
    form: 'key',
    ofOperator: ['belongsTo', 'filter.joined'],
    filters: [
      {
        name: 'filter.scope',
        text: 'May',
        choices: [
          ['ALL', 'everything'],
          ['READ_ONLY', 'read everything'],
          ['RESTRICTED', 'restricted'],
          ['AGENT', 'join a machine'],
        ],
      },
      { name: 'filter.revoked', text: 'Revoked', choices: YES_NO },
      { name: 'filter.joined', text: 'A machine joined', choices: YES_NO },
    ],
    empty: 'Programs and people sign in with keys.',
    command: 'npx slipway keys create --help',
  },
  audit: {
    title: 'Audit',
    path: '/api/audit',
    columns: ['time', 'action', 'subject', 'changes', 'key', 'address', 'account'],
    orders: { time: 'time' },
    first: { order: 'time', descending: true },
    ofOperator: ['account'],
    empty: 'Nothing has been changed yet.',
    filters: [
      { name: 'filter.action', text: 'Action' },
      { name: 'filter.refused', text: 'Refused', choices: YES_NO },
      { name: 'subject', text: 'Subject (id)' },
      { name: 'filter.address', text: 'Address' },
      { name: 'account', text: 'Account' },
      { name: 'from', until: 'until', text: 'Made' },
    ],
  },
  alerts: {
    title: 'Alerts',
    path: '/api/alerts',
    columns: ['began', 'ended', 'about', 'kind', 'problem'],
    orders: {},
    isWhole: true,
    hasTargets: true,
    empty: 'No problem has been sent yet.',
  },
  accounts: {
    title: 'Accounts',
    path: '/api/accounts',
    columns: ['name', 'workers', 'gpus', 'queuedJobs', 'requests', 'gpuWeight', 'created', 'id'],
    orders: { name: 'name', created: 'created' },
    form: 'account',
    filters: [
      { name: 'filter.quota', text: 'Quota', choices: YES_NO },
      { name: 'filter.endpoints', text: 'Endpoints', choices: YES_NO },
    ],
    empty: 'Accounts own endpoints and their jobs.',
    command: 'npx slipway accounts create --help',
  },
  prices: {
    title: 'Prices',
    path: '/api/prices',
    columns: ['item', 'usdPerHour'],
    orders: {},
    isWhole: true,
    form: 'price',
    empty: 'Anything without a price costs nothing.',
    command: 'npx slipway prices set --help',
  },
};
