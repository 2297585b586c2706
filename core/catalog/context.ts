/** What the use cases of the catalogue work with. */
import type { Stores } from '../store/storage.ts';

export interface CatalogContext {
  catalog: Stores['catalog'];
  machines: Stores['machines'];
  prices: Stores['prices'];
}
