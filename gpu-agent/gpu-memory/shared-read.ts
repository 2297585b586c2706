/**
 * Reads a value for several callers at once. A caller never gets a value whose reading began before it asked: who asks
 * during a reading shares the next one. So many moves at once start two programs, not one each.
 */
export function sharedRead<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let isReading = false;
  let next: PromiseWithResolvers<Value> | undefined;
  const begin = async ({ resolve, reject }: PromiseWithResolvers<Value>): Promise<void> => {
    isReading = true;
    try {
      resolve(await read());
    } catch (error) {
      reject(error);
    }
    isReading = false;
    const waiting = next;
    next = undefined;
    if (waiting) void begin(waiting);
  };
  return () => {
    if (isReading) return (next ??= Promise.withResolvers()).promise;
    const reading = Promise.withResolvers<Value>();
    void begin(reading);
    return reading.promise;
  };
}
