/** Follows. */
export default function Page(_: Record<string, string>) { return null; }
