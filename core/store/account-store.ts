/** Accounts. */
import { eq } from 'drizzle-orm';
import { account } from '../../drizzle/schema/account.ts';
import type { Database } from './database.ts';

/** See the file's first line. */
export class AccountStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Creates an account and answers its id; of an account with this name the id it has. */
  async create(id: string, name: string): Promise<string> {
    const [made] = await this.#database.db.insert(account).values({ id, name })
      .onConflictDoNothing({ target: account.name }).returning({ id: account.id });
    if (made) return made.id;
    const [found] = await this.#database.db.select({ id: account.id }).from(account).where(eq(account.name, name));
    return found!.id;
  }

  /** Whether there is such an account. */
  async exists(id: string): Promise<boolean> {
    const rows = await this.#database.db.select({ id: account.id }).from(account).where(eq(account.id, id));
    return rows.length > 0;
  }
}
