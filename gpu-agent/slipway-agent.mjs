#!/usr/bin/env node
/** The executable `slipway-agent`: runs the agent of a GPU machine with the pinned Node. */
const { withPinnedNode } = await import('@slipway/kit/host/pinned-node.mjs').catch(() => {
  process.stderr.write('Slipway is not installed completely. Run "npm install" and try again.\n');
  process.exit(1);
});

await withPinnedNode(import.meta.url, async () => {
  await import('./main.ts');
});
