/**
 * Which test an error belongs to that nobody caught: what tap asks `async-hook-domain` for, in test runs
 * (test-domain-hook.ts). That package listens to the making and the end of every promise, which took an eighth of all
 * that a test's process did; AsyncLocalStorage costs nothing.
 */
import { AsyncLocalStorage, AsyncResource, executionAsyncResource } from 'node:async_hooks';

type Catch = (error: unknown, event: string) => void;

const storage = new AsyncLocalStorage<Domain>();
/**
 * The first one that has not ended: a process's own test, or that of the file that runs. Errors without a test are its.
 */
const roots = new Set<Domain>();

/** What goes on from where it was made is caught by it until it is destroyed, and then by the one around it. */
export class Domain {
  readonly onerror: Catch;
  readonly #around: Domain | undefined;
  #destroyed = false;

  constructor(onerror: Catch) {
    this.onerror = onerror;
    this.#around = current();
    if (!this.#around) roots.add(this);
    const resource = executionAsyncResource();
    // tap makes it inside of a resource, through which it calls a test's functions later on.
    if (resource instanceof AsyncResource) enterWith(resource, this);
    else storage.enterWith(this);
    watch();
  }

  destroy(): void {
    this.#destroyed = true;
    roots.delete(this);
  }

  /** The innermost that has not ended. */
  static alive(domain: Domain | undefined): Domain | undefined {
    let found = domain;
    while (found !== undefined && found.#destroyed) found = found.#around;
    return found;
  }
}

function current(): Domain | undefined {
  return Domain.alive(storage.getStore());
}

/** What runs in the resource from now on runs in the domain. */
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
    // Somebody else takes care of it.
    if (process.hasUncaughtExceptionCaptureCallback() || process.listenerCount('uncaughtException') > 0) return;
    if (!caught(error, event)) return;
    process.setUncaughtExceptionCaptureCallback(() => {
      process.setUncaughtExceptionCaptureCallback(null);
    });
  });
  // A listener would change what Node does with rejections that are nobody's.
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
