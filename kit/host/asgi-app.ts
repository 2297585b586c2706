/** Serves a Python file that makes an ASGI app and starts no server for it. */
import { existsSync, readFileSync } from 'node:fs';

/** Release of uvicorn for apps whose requirements do not list it. */
const UVICORN_REQUIREMENT = 'uvicorn==0.54.0';

/** Assignment of an app at the top of a file. */
const APP = /^app(?:\s*:\s*[\w.]+)?\s*=\s*(?:[\w.]*\.)?(?:FastAPI|Starlette|Litestar|Quart|Sanic)\s*\(/m;
/** Words of files that start a server themselves. */
const SERVES = /\b(?:uvicorn|hypercorn|granian|app)\s*\.\s*(?:run|serve)\s*\(|\bhypercorn\b|\bserve_forever\b/;

/**
 * Runs the app of the file that is the last argument, on the address that workers listen on. An app without a route
 * /ping, which says that a worker is ready, gets one.
 */
const RUN = `
import importlib.util, os, sys
import uvicorn
path = sys.argv[1]
sys.path.insert(0, os.path.dirname(path))
name = os.path.splitext(os.path.basename(path))[0]
spec = importlib.util.spec_from_file_location(name, path)
module = importlib.util.module_from_spec(spec)
sys.modules[name] = module
spec.loader.exec_module(module)
app = module.app
async def with_ping(scope, receive, send):
    if scope["type"] != "http" or scope["path"] != "/ping":
        return await app(scope, receive, send)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})
has_ping = any(getattr(route, "path", "") == "/ping" for route in getattr(app, "routes", []))
host, port = os.environ.get("HOST", "127.0.0.1"), int(os.environ.get("PORT", "80"))
uvicorn.run(app if has_ping else with_ping, host=host, port=port, log_level="warning")
`.trim();

/** Returns whether a file makes an ASGI app named `app` and starts no server. */
export function isBareApp(file: string): boolean {
  if (!file.endsWith('.py') || !existsSync(file)) return false;
  const text = readFileSync(file, 'utf8');
  return APP.test(text) && !SERVES.test(text);
}

/** Returns the command line that serves the app on HOST (default: loopback) and PORT. */
export function bareAppCommand(python: string, file: string): string[] {
  return [python, '-u', '-c', RUN, file];
}

/** Returns uvicorn, unless a file of requirements, which may be missing, lists it. */
export function bareAppRequirements(requirementsFile: string): string[] {
  const text = existsSync(requirementsFile) ? readFileSync(requirementsFile, 'utf8') : '';
  return /^\s*uvicorn\b(?!-)/im.test(text) ? [] : [UVICORN_REQUIREMENT];
}
