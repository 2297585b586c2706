/** The stand-in's cards as devices of a container engine: each brings the driver with it, as NVIDIA's own does. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import type { Test } from 'tap';
import { freshId } from '../engines/containers.ts';
import type { CudaStandIn } from './stand-in.ts';

/** Offers cards, with the driver's folder, until the test ends. Returns their kind, for SLIPWAY_CDI_KIND. */
export function offerCards(t: Test, cuda: CudaStandIn, cards: readonly string[]): string {
  const kind = `slipway-${freshId()}.example/gpu`;
  const mount = { hostPath: cuda.folder, containerPath: cuda.folder, options: ['rw', 'bind'] };
  const devices = cards.map((name) => ({ name, containerEdits: { mounts: [mount] } }));
  mkdirSync('/var/run/cdi', { recursive: true });
  const file = `/var/run/cdi/${kind.split('.')[0]!}.json`;
  writeFileSync(file, JSON.stringify({ cdiVersion: '0.5.0', kind, devices }));
  t.teardown(() => rmSync(file));
  return kind;
}
