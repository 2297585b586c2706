/** Dependencies of the use cases of the catalog. */
import type { Stores } from '../store/storage.ts';

export type CatalogContext = Pick<Stores, 'catalog' | 'machines' | 'prices'>;
