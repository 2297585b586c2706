/**
 * Finds the test that an uncaught error belongs to. In test runs tap uses this in place of `async-hook-domain`
 * (test-domain-hook.ts). That package listens to the start and end of every promise, which took an eighth of all work
 * of a test's process. AsyncLocalStorage costs nothing.
 */
import { AsyncLocalStorage, AsyncResource, executionAsyncResource } from 'node:async_hooks';

type Catch = (error: unknown, event: string) => void;

const storage = new AsyncLocalStorage<Domain>();
/**
 * Domains without an outer domain that have not ended: the test of the process, or of the file that runs. The first one
 * gets errors that belong to no test.
 */
const roots = new Set<Domain>();

/**
 * Catches the errors of everything that was started inside it, until it is destroyed. After that the outer domain
 * catches them.
 */
export class Domain {
  readonly onerror: Catch;
  readonly #around: Domain | undefined;
  #destroyed = false;

  constructor(onerror: Catch) {
    this.onerror = onerror;
    this.#around = current();
    if (!this.#around) roots.add(this);
    const resource = executionAsyncResource();
    // tap creates a domain inside a resource, through which it calls the test's functions later.
    if (resource instanceof AsyncResource) enterWith(resource, this);
    else storage.enterWith(this);
    watch();
  }

  destroy(): void {
    this.#destroyed = true;
    roots.delete(this);
  }

  /** Returns the innermost domain that has not ended. */
  static alive(domain: Domain | undefined): Domain | undefined {
    let found = domain;
    while (found !== undefined && found.#destroyed) found = found.#around;
    return found;
  }
}

function current(): Domain | undefined {
  return Domain.alive(storage.getStore());
}

/** Makes the resource run its functions in the domain from now on. */
function enterWith(resource: AsyncResource, domain: Domain): void {
  resource.runInAsyncScope = (fn, self, ...args) =>
    AsyncResource.prototype.runInAsyncScope.call(resource, () =>
      storage.run(domain, () => fn.apply(self as never, args)),
    ) as never;
}

let watching = false;

function watch(): void {
  if (watching) return;
  watching = true;
  process.on('uncaughtExceptionMonitor', (error, event) => {
    // Another handler takes care of the error.
    if (process.hasUncaughtExceptionCaptureCallback() || process.listenerCount('uncaughtException') > 0) return;
    if (!caught(error, event)) return;
    process.setUncaughtExceptionCaptureCallback(() => {
      process.setUncaughtExceptionCaptureCallback(null);
    });
  });
  // A listener would change what Node does with rejections that belong to no test.
  const emit = process.emit.bind(process) as (name: string, ...values: unknown[]) => boolean;
  Object.assign(process, {
    emit: (name: string, ...values: unknown[]): boolean => {
      if (name !== 'unhandledRejection' || process.listenerCount(name) > 0) return emit(name, ...values);
      return caught(values[0], name);
    },
  });
}

function caught(error: unknown, event: string): boolean {
  const domain = current() ?? [...roots].at(-1);
  domain?.onerror(error, event);
  return domain !== undefined;
}
