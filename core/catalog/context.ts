/** What the use cases of the catalogue work with. */
import type { CatalogStore } from '../store/catalog-store.ts';
import type { MachineStore } from '../store/machine-store.ts';
import type { PriceStore } from '../store/price-store.ts';

export interface CatalogContext {
  catalog: CatalogStore;
  machines: MachineStore;
  prices: PriceStore;
}
