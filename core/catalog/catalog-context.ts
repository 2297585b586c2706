/** What the use cases of the catalogue work with. */
import type { Stores } from '../store/storage.ts';

export type CatalogContext = Pick<Stores, 'catalog' | 'machines' | 'prices'>;
