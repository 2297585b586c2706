/**
 * Loads some imports of the SDK lazily. At each start the SDK loads what only its command line and its own HTTP server
 * use. That is a fifth of the processor time of a start, and a third with the 1.7 line, and a test run starts a hundred
 * workers. In the Pythons of tests these modules are loaded on first use.
 */
import type { StartupModule } from './python-startup.ts';

const TEXT = `"""What a worker loads and does not use is loaded by its first use, as importlib.util.LazyLoader does it."""
import importlib.machinery
import importlib.util
import sys

UNUSED = {"paramiko", "runpod.serverless.modules.rp_fastapi"}


class LazyFinder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in UNUSED:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = importlib.util.LazyLoader(spec.loader)
        return spec


sys.meta_path.insert(0, LazyFinder)
`;

export const LAZY_IMPORTS: StartupModule = { name: 'lazy_imports', text: TEXT };
