/** `prepack` of each package that ships. npm alone would pack its TypeScript, which does not run below node_modules. */
import { basename } from 'node:path';

process.stderr.write(`This folder is not what is published. Run: npm run pack -- ${basename(process.cwd())}\n`);
process.exit(1);
