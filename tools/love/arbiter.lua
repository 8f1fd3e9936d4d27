-- The client library through LuaJIT's foreign-function interface. Its header is the binding: what arbiter_client.h
-- declares is declared here, so the two never differ. Copy this file, the header and the shared library into a game.
--
--     local arbiter = require("arbiter").open("path/to/arbiter_client.h", "path/to/libarbiter_client.so")
--     arbiter.C.arbiter_client_poll(client, arbiter.C.arbiter_now_ns())
--
-- Structs come from ffi.new("struct arbiter_view"); constants are arbiter.C.ARBITER_BUTTON_FIRE and so on. A pointer
-- inside a view holds until the next call with its client. Callbacks into Lua (config.on_tick) work, but LuaJIT does
-- not compile the code that leads to one.
local ffi = require("ffi")

local arbiter = {}

-- LuaJIT reads C declarations, but has no preprocessor.
local function declarations(text)
    text = text:gsub("#ifdef __cplusplus.-#endif", "")
    return (text:gsub("\n#[^\n]*", "\n"))
end

function arbiter.open(header, library)
    local file = assert(io.open(header, "rb"))
    local text = file:read("*a")
    file:close()
    ffi.cdef(declarations("\n" .. text))
    arbiter.C = ffi.load(library)
    local abi = tonumber(text:match("#define ARBITER_CLIENT_ABI (%d+)"))
    assert(arbiter.C.arbiter_client_abi() == abi, "the header is not the library's")
    return arbiter
end

-- A client that is destroyed with its last reference. `options`: members of struct arbiter_config.
function arbiter.client(options)
    local config = ffi.new("struct arbiter_config")
    arbiter.C.arbiter_config_default(config)
    for name, value in pairs(options) do
        config[name] = value
    end
    local client = arbiter.C.arbiter_client_create(config)
    assert(client ~= nil, "an option is out of range")
    return ffi.gc(client, arbiter.C.arbiter_client_destroy)
end

-- Host name or address to a numeric address, nil when there is none. May block.
function arbiter.resolve(host)
    local address = ffi.new("char[?]", arbiter.C.ARBITER_ADDRESS_BYTES)
    return arbiter.C.arbiter_resolve(host, address) and ffi.string(address) or nil
end

-- A sentence on why the newest connection ended.
function arbiter.reason(client)
    local info = ffi.new("struct arbiter_disconnect_info")
    arbiter.C.arbiter_client_disconnect_info(client, info)
    return ffi.string(info.text)
end

return arbiter
