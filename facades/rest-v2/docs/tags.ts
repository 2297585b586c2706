/** Groups of operations in the document of REST v2. */

/** Groups of operations. */
export const TAGS: readonly { name: string; description: string }[] = [
  { name: 'docs', description: 'This description.' },
  { name: 'serverless', description: 'Endpoints and their workers.' },
  { name: 'pods', description: 'Long-running containers or processes, one machine each.' },
  { name: 'templates', description: 'What workers and pods run.' },
  { name: 'registries', description: 'Credentials for private container registries. Never shown again.' },
  { name: 'network volumes', description: 'Directories that outlive workers and pods.' },
  { name: 'catalog', description: 'What there is to choose from, and what of it is free.' },
  { name: 'account', description: "The caller's account." },
  { name: 'billing', description: "What was used, and what it costs by the operator's price table." },
  { name: 'not here', description: "What one's own machines have nothing of." },
];
