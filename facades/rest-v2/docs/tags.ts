/** Groups of operations in the document of REST v2. */

/** Groups of operations. */
export const TAGS: readonly { name: string; description: string }[] = [
  { name: 'docs', description: 'This description.' },
  { name: 'serverless', description: 'Endpoints and their workers.' },
  { name: 'pods', description: 'Long-running containers or processes. Each runs on one machine.' },
  {
    name: 'templates',
    description: 'A template says what workers and pods run: image, command, environment, disk and ports.',
  },
  {
    name: 'registries',
    description: 'Credentials for private container registries. The service never shows secrets again.',
  },
  { name: 'network volumes', description: 'Directories that stay when their workers and pods end.' },
  {
    name: 'catalog',
    description: 'Machines, GPUs, processors and public templates to choose from, and what is free now.',
  },
  { name: 'account', description: "The caller's account." },
  { name: 'billing', description: "Usage, and its cost by the operator's price table." },
  { name: 'not here', description: 'Parts of the public API that this service does not have.' },
];
