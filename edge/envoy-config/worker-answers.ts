/**
 * Handling of headers on the direct path, the same as in a facade. Our own cookies (kit/net/own-cookies.ts) neither
 * reach a worker nor are set by one. In the path form, addresses and cookies of a worker get its prefix, and it does
 * not speak for the whole origin (kit/net/path-form.ts).
 */
import { OWN_COOKIES } from '@slipway/kit/net/own-cookies';
import { ORIGIN_HEADERS } from '@slipway/kit/net/path-form';
import type { Message } from '../message.ts';
import { typed } from '../message.ts';

const LUA = 'envoy.extensions.filters.http.lua.v3';
const FILTER = 'worker_answers';
const SCRIPT = `
local ours = { ${OWN_COOKIES.map((name) => `"${name.replaceAll('-', '%-')}"`).join(', ')} }
local of_origin = { ${ORIGIN_HEADERS.map((name) => `"${name}"`).join(', ')} }

local function is_ours(text)
  for _, name in ipairs(ours) do
    if text:match("^[%s=]*" .. name .. "%s*$") or text:match("^[%s=]*" .. name .. "%s*[=;]") then return true end
  end
  return false
end

local function keep_cookies(headers)
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

local function prefixed(path, prefix)
  if path:sub(1, #prefix) == prefix and (#path == #prefix or path:sub(#prefix + 1, #prefix + 1):match("[/?#]")) then return path end
  return prefix .. path
end

local function address_in(value, form)
  local scheme, authority, rest = value:match("^(%a+):(//[^/?#]*)(.*)$")
  if not authority then authority, rest = value:match("^(//[^/?#]*)(.*)$") end
  if not authority then
    if value:sub(1, 1) == "/" then return prefixed(value, form.prefix) end
    return value
  end
  if scheme and not (scheme:lower() == "http" or scheme:lower() == "https") then return value end
  if authority:lower() ~= "//" .. form.host:lower() then return value end
  if rest:sub(1, 1) ~= "/" then rest = "/" .. rest end
  local address = authority .. prefixed(rest, form.prefix)
  if scheme then return form.proto .. ":" .. address end
  return address
end

local function cookie_in(value, prefix)
  local parts = {}
  for part in (value .. ";"):gmatch("([^;]*);") do
    local lower = part:lower()
    local path = #parts > 0 and lower:match("^%s*path%s*=") and part:match("^[^=]*=%s*(/.-)%s*$")
    if path then
      parts[#parts + 1] = " Path=" .. prefixed(path, prefix)
    elseif #parts == 0 or not (lower:match("^%s*domain%s*=") or lower:match("^%s*domain%s*$")) then
      parts[#parts + 1] = part
    end
  end
  return table.concat(parts, ";")
end

function envoy_on_request(handle)
  local headers = handle:headers()
  keep_cookies(headers)
  local prefix = headers:get("x-forwarded-prefix")
  if not prefix or prefix:sub(1, 4) ~= "/v2/" then return end
  local form = handle:streamInfo():dynamicMetadata()
  form:set("${FILTER}", "prefix", prefix)
  form:set("${FILTER}", "host", headers:get("x-forwarded-host") or headers:get(":authority") or "")
  form:set("${FILTER}", "proto", headers:get("x-forwarded-proto") or "http")
end

function envoy_on_response(handle)
  local headers = handle:headers()
  local form = handle:streamInfo():dynamicMetadata():get("${FILTER}")
  local kept, changed = {}, false
  for index = 0, headers:getNumValues("set-cookie") - 1 do
    local text = headers:getAtIndex("set-cookie", index)
    if is_ours(text) then
      changed = true
    else
      local now = form and cookie_in(text, form.prefix) or text
      changed = changed or now ~= text
      kept[#kept + 1] = now
    end
  end
  if changed then
    headers:remove("set-cookie")
    for _, text in ipairs(kept) do headers:add("set-cookie", text) end
  end
  if not form then return end
  for _, name in ipairs(of_origin) do headers:remove(name) end
  for _, name in ipairs({ "location", "content-location" }) do
    local value = headers:get(name)
    if value then headers:replace(name, address_in(value, form)) end
  end
end`;

/** Returns the filter for a listener, where it does nothing by itself. */
export function workerAnswersFilter(): Message {
  return { name: FILTER, typed_config: typed(`${LUA}.Lua`, { source_codes: { [FILTER]: { inline_string: SCRIPT } } }) };
}

/** Returns the setting that enables the filter on a route. */
export function patchesAnswers(): Message {
  return { [FILTER]: typed(`${LUA}.LuaPerRoute`, { name: FILTER }) };
}
