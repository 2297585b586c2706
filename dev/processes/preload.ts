/** Loads the code of a program, waits for its settings, and runs it. Arguments: the program, a module with its code. */
const [, , program, module] = process.argv as [string, string, string, string];

const end = (): never => process.exit(1);
// The launcher has ended.
process.once('disconnect', end);
const settings = new Promise<{ env: Record<string, string>; removed: string[] }>((resolve) => {
  process.once('message', resolve);
});
await import(module);
const { env, removed } = await settings;
for (const name of removed) delete process.env[name];
Object.assign(process.env, env);
process.off('disconnect', end);
await import(program);
