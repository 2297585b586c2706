#!/usr/bin/env node
/** The executable `slipway`: runs main.ts with the pinned Node. */
const { withPinnedNode } = await import('@slipway/kit/host/pinned-node.mjs').catch(() => {
  process.stderr.write('Slipway is not installed completely. Run "npm install" and try again.\n');
  process.exit(1);
});

await withPinnedNode(import.meta.url, async () => {
  const { main } = await import('./main.ts');
  return main(process.argv.slice(2));
});
