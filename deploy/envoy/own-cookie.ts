/** Envoy's part of proto/wire/console-cookie.ts: the console's cookie neither reaches a worker on the direct way, nor is set by one. */
import { CONSOLE_COOKIE } from '../../proto/wire/console-cookie.ts';
import { typed } from './message.ts';
import type { Message } from './message.ts';

const LUA = 'envoy.extensions.filters.http.lua.v3';
const FILTER = 'own_cookie';
const SCRIPT = `
local function is_ours(text)
  return text:match("^[%s=]*${CONSOLE_COOKIE}%s*$") or text:match("^[%s=]*${CONSOLE_COOKIE}%s*[=;]")
end

function envoy_on_request(handle)
  local headers = handle:headers()
  local kept, found = {}, false
  for index = 0, headers:getNumValues("cookie") - 1 do
    for pair in headers:getAtIndex("cookie", index):gmatch("[^;]+") do
      if is_ours(pair) then
        found = true
      else
        kept[#kept + 1] = pair:match("^%s*(.-)%s*$")
      end
    end
  end
  if not found then return end
  headers:remove("cookie")
  if #kept > 0 then headers:add("cookie", table.concat(kept, "; ")) end
end

function envoy_on_response(handle)
  local headers = handle:headers()
  local kept, found = {}, false
  for index = 0, headers:getNumValues("set-cookie") - 1 do
    local text = headers:getAtIndex("set-cookie", index)
    if is_ours(text) then found = true else kept[#kept + 1] = text end
  end
  if not found then return end
  headers:remove("set-cookie")
  for _, text in ipairs(kept) do headers:add("set-cookie", text) end
end`;

/** Stands among a listener's filters and does nothing. */
export function ownCookieFilter(): Message {
  return { name: FILTER, typed_config: typed(`${LUA}.Lua`, { source_codes: { [FILTER]: { inline_string: SCRIPT } } }) };
}

/** Of a route: there it does. */
export function takesOwnCookie(): Message {
  return { [FILTER]: typed(`${LUA}.LuaPerRoute`, { name: FILTER }) };
}
