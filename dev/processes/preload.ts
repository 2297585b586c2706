/** Loads the code of a program, waits for its settings, and runs it. Arguments: the program, a module with its code. */
const [, , program, module] = process.argv as [string, string, string, string];

const end = (): never => process.exit(1);
// The launcher has ended.
process.once('disconnect', end);
const settings = new Promise<Record<string, string>>((resolve) => {
  process.once('message', (message: { env: Record<string, string> }) => resolve(message.env));
});
await import(module);
Object.assign(process.env, await settings);
process.off('disconnect', end);
await import(program);
