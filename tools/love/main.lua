-- A small game on the client library, in Lua: connects, shows the match, and plays with WASD and the mouse.
--
--     love tools/love [--library FILE] [--header FILE] [--name NAME] HOST:PORT
--
-- For tests: with --screenshot FILE it tells twice a second what it has; key p writes the picture and ends.
local ffi = require("ffi")
local arbiter = require("arbiter")
local draw = require("draw")

local options = {
    library = os.getenv("ARBITER_LIBRARY") or "libarbiter_client.so",
    header = os.getenv("ARBITER_HEADER") or "/usr/local/include/arbiter_client.h",
    name = os.getenv("USER") or "love",
}
local game = { tracers = {}, time = 0, told = 0 }
local C -- the library, once it is loaded

local function parse(arguments)
    local i = 1
    while i <= #arguments do
        local name = arguments[i]:match("^%-%-(%l+)$")
        if name then
            options[name] = arguments[i + 1]
            i = i + 1
        else
            options.host, options.port = arguments[i]:match("^%[?(.-)%]?:(%d+)$")
        end
        i = i + 1
    end
    assert(options.host, "usage: love tools/love [--library FILE] [--header FILE] [--name NAME] HOST:PORT")
end

-- As the player that this was before, while the server keeps its place; else as a new one.
local function connect()
    local address = assert(arbiter.resolve(options.host), "no address for " .. options.host)
    local port, token = tonumber(options.port), ffi.new("uint8_t[?]", C.ARBITER_TOKEN_BYTES)
    if C.arbiter_client_token(game.client, token) then
        C.arbiter_client_resume(game.client, address, port, token, C.arbiter_now_ns())
    else
        C.arbiter_client_connect(game.client, address, port, C.arbiter_now_ns())
    end
end

function love.load(arguments)
    parse(arguments)
    C = arbiter.open(options.header, options.library).C
    game.client = arbiter.client({ name = options.name })
    game.view = ffi.new("struct arbiter_view")
    game.input = ffi.new("struct arbiter_input")
    game.statistics = ffi.new("struct arbiter_statistics")
    draw.load(C)
    connect()
end

-- The map and the indices of kinds and values, which stay the same for a connection.
local function learn()
    local map, shape = ffi.new("struct arbiter_map"), ffi.new("struct arbiter_shape")
    if not C.arbiter_client_map(game.client, map) then
        return
    end
    game.map, game.shapes = map, {}
    while C.arbiter_client_shape(game.client, #game.shapes, shape) do
        game.shapes[#game.shapes + 1] = ffi.new("struct arbiter_shape", shape)
    end
    game.rules = ffi.new("struct arbiter_rules")
    C.arbiter_client_rules(game.client, game.rules)
    game.mode = ffi.string(C.arbiter_client_mode(game.client))
    game.kinds = {}
    for _, name in ipairs({ "character", "pickup", "projectile", "head", "food" }) do
        game.kinds[C.arbiter_client_kind(game.client, name)] = name
    end
    local character = C.arbiter_client_kind(game.client, "character")
    game.health = character >= 0 and C.arbiter_client_field(game.client, character, "health") or -1
    local pickup = C.arbiter_client_kind(game.client, "pickup")
    game.pickup_type = pickup >= 0 and C.arbiter_client_field(game.client, pickup, "type") or -1
end

local function axis(negative, positive)
    local down = love.keyboard.isDown
    return (down(positive) and 127 or 0) - (down(negative) and 127 or 0)
end

local function read_controls()
    local input, own = game.input, game.view.own
    input.move_x, input.move_y = axis("a", "d"), axis("s", "w")
    local x, y = draw.to_world(love.mouse.getPosition())
    input.aim = C.arbiter_aim(math.atan2(y - own.y, x - own.x))
    local buttons = 0
    local function held(is_down, bit)
        buttons = buttons + (is_down and bit or 0)
    end
    held(love.mouse.isDown(1), C.ARBITER_BUTTON_FIRE)
    held(love.keyboard.isDown("e"), C.ARBITER_BUTTON_USE)
    held(love.keyboard.isDown("space", "lshift"), C.ARBITER_BUTTON_DASH)
    held(love.keyboard.isDown("r"), C.ARBITER_BUTTON_RELOAD)
    input.buttons = buttons
end

-- What happened once: told when the drawn world reaches it.
local function hear(event)
    if event.kind == C.ARBITER_EVENT_HIT then
        game.tracers[#game.tracers + 1] = { shooter = event.a, x = event.x, y = event.y, born = game.time }
    elseif event.kind == C.ARBITER_EVENT_DEATH then
        game.killer, game.death_time = event.b, game.time
    end
end

local function tell()
    local s = game.statistics
    print(("entities %d players %d snapshots %d inputs %d fired %d moved %d corrections %d"):format(
        game.view.entity_count, game.view.player_count, tonumber(s.snapshots), tonumber(s.inputs_sent),
        tonumber(s.edges_sent[0]), game.moved and 1 or 0, s.corrections.count))
    io.flush()
end

local function take_picture()
    love.graphics.captureScreenshot(function(image)
        local file = assert(io.open(options.screenshot, "wb"))
        file:write(image:encode("png"):getString())
        file:close()
        tell()
        love.event.quit(0)
    end)
end

function love.update(dt)
    local now = C.arbiter_now_ns()
    game.time = game.time + dt
    read_controls()
    C.arbiter_client_input(game.client, game.input)
    C.arbiter_client_poll(game.client, now)
    C.arbiter_client_sample(game.client, now, game.view)
    C.arbiter_client_statistics(game.client, game.statistics)
    if not game.map and game.view.connection == C.ARBITER_CONNECTED then
        learn()
    end
    for i = 0, game.view.event_count - 1 do
        hear(game.view.events[i])
    end
    if game.view.connection == C.ARBITER_OFFLINE then
        game.reason = arbiter.reason(game.client)
    end
    if options.screenshot and game.time >= game.told + 0.5 then
        game.told = game.time
        tell()
    end
    local own = game.view.own
    game.moved = game.moved or own.exists and own.vx * own.vx + own.vy * own.vy > 1
end

function love.draw()
    draw.frame(game)
end

function love.keypressed(key)
    if key == "escape" then
        C.arbiter_client_disconnect(game.client, C.arbiter_now_ns())
        love.event.quit(0)
    elseif key == "p" and options.screenshot then
        take_picture()
    elseif key == "tab" then
        draw.details = not draw.details
    elseif key == "return" and game.reason then
        game.reason, game.map = nil, nil
        connect()
    end
end
