-- Draws a view: arena, entities, scores, and the figures of the connection. Knows nothing of controls or network.
local ffi = require("ffi")

local draw = { details = true }
local C
local camera = { x = 0, y = 0, scale = 32 } -- m, pixels per m
local METRES_HIGH = 24
local MARGIN = 6 -- m around the map
local TRACER_S = 0.12
local COLOURS = {
    { 0.90, 0.35, 0.30 }, { 0.35, 0.75, 0.40 }, { 0.95, 0.80, 0.35 }, { 0.35, 0.75, 0.85 }, { 0.75, 0.45, 0.85 },
    { 0.95, 0.60, 0.30 }, { 0.40, 0.55, 0.95 }, { 0.65, 0.80, 0.30 },
}
local PICKUPS = { [0] = { 0.9, 0.4, 0.4 }, { 0.9, 0.8, 0.4 }, { 0.5, 0.7, 1.0 } } -- health, ammunition, weapon

function draw.load(library)
    C = library
    draw.font = love.graphics.newFont(14)
    draw.large = love.graphics.newFont(28)
    love.graphics.setBackgroundColor(0.09, 0.10, 0.12)
    love.graphics.setLineStyle("smooth")
end

-- Pixels of the window to metres of the world, whose y goes up.
function draw.to_world(px, py)
    local width, height = love.graphics.getDimensions()
    return camera.x + (px - width / 2) / camera.scale, camera.y - (py - height / 2) / camera.scale
end

local function colour_of(slot)
    return COLOURS[slot % #COLOURS + 1]
end

-- The middle of a window that shows little beyond low and high, but enough that what lies over its corners hides nobody.
local function near_map(middle, half, low, high)
    local edge = half - MARGIN
    return high - low < 2 * edge and (low + high) / 2 or math.max(low + edge, math.min(high - edge, middle))
end

-- Before there is a character: the whole map. With one: round it.
local function aim_camera(game)
    local width, height = love.graphics.getDimensions()
    local own, map = game.view.own, game.map
    if own.exists then
        camera.scale = height / METRES_HIGH
        camera.x = near_map(own.x, width / 2 / camera.scale, map.low.x, map.high.x)
        camera.y = near_map(own.y, height / 2 / camera.scale, map.low.y, map.high.y)
    elseif not game.had_own then
        camera.x, camera.y = (map.low.x + map.high.x) / 2, (map.low.y + map.high.y) / 2
        camera.scale = math.min(width / (map.high.x - map.low.x), height / (map.high.y - map.low.y))
    end
    game.had_own = game.had_own or own.exists
    love.graphics.translate(width / 2, height / 2)
    love.graphics.scale(camera.scale, -camera.scale)
    love.graphics.translate(-camera.x, -camera.y)
end

local function draw_shape(shape)
    local points, count, radius = shape.points, shape.count, shape.radius
    if shape.type == C.ARBITER_SHAPE_POLYGON then
        local flat = {}
        for i = 0, count - 1 do
            flat[#flat + 1], flat[#flat + 2] = points[i].x, points[i].y
        end
        love.graphics.polygon("fill", flat)
    end
    for i = 0, count - 1 do
        local a, b = points[i], points[(i + 1) % count]
        if radius > 0 then
            love.graphics.circle("fill", a.x, a.y, radius, 64)
            love.graphics.setLineWidth(2 * radius)
            if count > 1 then
                love.graphics.line(a.x, a.y, b.x, b.y)
            end
        end
    end
end

local function draw_arena(game)
    local low, high = game.map.low, game.map.high
    love.graphics.setColor(0.14, 0.16, 0.19)
    love.graphics.rectangle("fill", low.x, low.y, high.x - low.x, high.y - low.y)
    love.graphics.setColor(0.17, 0.19, 0.23)
    love.graphics.setLineWidth(1.5 / camera.scale)
    for x = math.ceil(low.x / 4) * 4, high.x, 4 do
        love.graphics.line(x, low.y, x, high.y)
    end
    for y = math.ceil(low.y / 4) * 4, high.y, 4 do
        love.graphics.line(low.x, y, high.x, y)
    end
    love.graphics.setColor(0.42, 0.46, 0.52)
    for _, shape in ipairs(game.shapes) do
        draw_shape(shape)
    end
    love.graphics.setLineWidth(0.15)
    love.graphics.rectangle("line", low.x, low.y, high.x - low.x, high.y - low.y)
end

-- A body is a chain of circles and what lies between them, tail first so that the head lies on top.
local function draw_body(entity, radius)
    love.graphics.setLineWidth(2 * radius)
    for i = entity.point_count - 1, 0, -1 do
        local a, b = entity.points[i], entity.points[math.max(i - 1, 0)]
        love.graphics.circle("fill", a.x, a.y, radius, 16)
        if a.x ~= b.x or a.y ~= b.y then
            love.graphics.line(a.x, a.y, b.x, b.y)
        end
    end
end

local function draw_character(game, entity)
    local x, y, heading = entity.x, entity.y, entity.heading
    local radius, half = game.rules.radius, game.rules.half_length
    local colour = colour_of(entity.owner)
    love.graphics.setColor(colour[1], colour[2], colour[3])
    draw_body(entity, radius)
    if half > 0 then
        love.graphics.setLineWidth(2 * radius)
        love.graphics.line(x - half, y, x + half, y)
        love.graphics.circle("fill", x - half, y, radius, 24)
        love.graphics.circle("fill", x + half, y, radius, 24)
    else
        love.graphics.circle("fill", x, y, radius, 24)
    end
    love.graphics.setColor(1, 1, 1, entity.is_own and 1 or 0.7)
    love.graphics.setLineWidth(0.1)
    love.graphics.line(x, y, x + 1.6 * radius * math.cos(heading), y + 1.6 * radius * math.sin(heading))
    if entity.is_own then
        love.graphics.setLineWidth(0.06)
        love.graphics.circle("line", x, y, radius + half + 0.15, 32)
    end
    if game.health >= 0 then
        local share = math.max(0, math.min(1, entity.fields[game.health] / 100))
        love.graphics.setColor(0, 0, 0, 0.6)
        love.graphics.rectangle("fill", x - 0.64, y + radius + 0.46, 1.28, 0.22)
        love.graphics.setColor(1 - share, 0.3 + 0.6 * share, 0.3)
        love.graphics.rectangle("fill", x - 0.6, y + radius + 0.5, 1.2 * share, 0.14)
    end
end

local function draw_entity(game, entity)
    local kind = game.kinds[entity.kind]
    if kind == "character" or kind == "head" then
        draw_character(game, entity)
    elseif kind == "projectile" then
        love.graphics.setColor(1, 0.9, 0.5)
        love.graphics.circle("fill", entity.x, entity.y, 0.14, 12)
    elseif kind == "pickup" then
        local colour = PICKUPS[entity.fields[game.pickup_type]] or PICKUPS[0]
        love.graphics.setColor(colour[1], colour[2], colour[3])
        love.graphics.rectangle("fill", entity.x - 0.3, entity.y - 0.3, 0.6, 0.6, 0.12)
    else
        love.graphics.setColor(0.8, 0.8, 0.4)
        love.graphics.circle("fill", entity.x, entity.y, 0.18, 12)
    end
end

-- From a shooter that is seen to where its shot hit.
local function draw_tracers(game)
    local kept = {}
    love.graphics.setLineWidth(0.08)
    for _, tracer in ipairs(game.tracers) do
        local age = game.time - tracer.born
        if age < TRACER_S then
            kept[#kept + 1] = tracer
            love.graphics.setColor(1, 0.95, 0.6, 1 - age / TRACER_S)
            love.graphics.circle("fill", tracer.x, tracer.y, 0.2, 12)
            for i = 0, game.view.entity_count - 1 do
                local entity = game.view.entities[i]
                if entity.owner == tracer.shooter and game.kinds[entity.kind] == "character" then
                    love.graphics.line(entity.x, entity.y, tracer.x, tracer.y)
                end
            end
        end
    end
    game.tracers = kept
end

local function name_of(view, slot)
    for i = 0, view.player_count - 1 do
        if view.players[i].slot == slot then
            return ffi.string(view.players[i].name)
        end
    end
    return "nobody"
end

-- Names over those who have one, in pixels.
local function draw_names(game)
    local width, height = love.graphics.getDimensions()
    for i = 0, game.view.entity_count - 1 do
        local entity = game.view.entities[i]
        local kind = game.kinds[entity.kind]
        if kind == "character" or kind == "head" then
            local x = width / 2 + (entity.x - camera.x) * camera.scale
            local y = height / 2 - (entity.y + game.rules.radius - camera.y) * camera.scale
            love.graphics.setColor(1, 1, 1, entity.is_own and 1 or 0.7)
            love.graphics.printf(name_of(game.view, entity.owner), x - 100, y - 40, 200, "center")
        end
    end
end

local function draw_scores(view)
    local players = {}
    for i = 0, view.player_count - 1 do
        players[#players + 1] = view.players[i]
    end
    table.sort(players, function(a, b)
        return a.score > b.score or a.score == b.score and a.slot < b.slot
    end)
    local left = love.graphics.getWidth() - 250
    love.graphics.setColor(0, 0, 0, 0.45)
    love.graphics.rectangle("fill", left - 12, 12, 250, 30 + 18 * #players, 6)
    love.graphics.setColor(0.7, 0.7, 0.7)
    love.graphics.print("player", left, 18)
    love.graphics.printf("score", left + 110, 18, 50, "right")
    love.graphics.printf("k", left + 160, 18, 30, "right")
    love.graphics.printf("d", left + 190, 18, 30, "right")
    for i, player in ipairs(players) do
        local colour = colour_of(player.slot)
        love.graphics.setColor(colour[1], colour[2], colour[3], player.present and 1 or 0.4)
        love.graphics.print(ffi.string(player.name):sub(1, 16), left, 18 + 18 * i)
        love.graphics.printf(tostring(player.score), left + 110, 18 + 18 * i, 50, "right")
        love.graphics.printf(tostring(player.kills), left + 160, 18 + 18 * i, 30, "right")
        love.graphics.printf(tostring(player.deaths), left + 190, 18 + 18 * i, 30, "right")
    end
end

local function draw_figures(game)
    local view, s = game.view, game.statistics
    local lines = {
        ("round trip %.0f ms, jitter %.1f ms, loss %.1f %%"):format(s.rtt_ms, s.jitter_ms, 100 * s.loss),
        ("inputs %.1f ticks ahead, others %.0f ms in the past"):format(s.lead_ticks, s.view_age_ms),
        ("corrections %d without a cause, %d with one"):format(
            s.corrections.count, s.corrections.outside + s.corrections.starved + s.corrections.jumped),
        ("%d entities, %d frames a second"):format(view.entity_count, love.timer.getFPS()),
    }
    love.graphics.setColor(0, 0, 0, 0.45)
    love.graphics.rectangle("fill", 8, 12, 384, 12 + 17 * #lines, 6)
    love.graphics.setColor(0.75, 0.8, 0.85)
    love.graphics.print(table.concat(lines, "\n"), 16, 16)
end

local function headline(game)
    local view = game.view
    local result = view.has_result and
        (view.result_winner == C.ARBITER_NO_SLOT and "a draw" or name_of(view, view.result_winner) .. " wins")
    if game.reason then
        return (result and result .. "\n" or "") .. game.reason .. "\nreturn: connect again"
    elseif result then
        return result
    elseif view.connection ~= C.ARBITER_CONNECTED then
        return "connecting ..."
    elseif view.phase == C.ARBITER_MATCH_WAITING then
        return "waiting for players"
    elseif view.phase == C.ARBITER_MATCH_COUNTDOWN then
        return ("%d"):format(math.ceil(view.phase_left_s))
    elseif not view.own.exists and game.killer then
        return "killed by " .. name_of(view, game.killer)
    end
end

local function draw_status(game)
    local width, height = love.graphics.getDimensions()
    local view, own = game.view, game.view.own
    love.graphics.setColor(0, 0, 0, 0.6)
    love.graphics.rectangle("fill", 0, height - 40, width, 40)
    love.graphics.setFont(draw.large)
    love.graphics.setColor(1, 1, 1)
    if view.phase == C.ARBITER_MATCH_LIVE then
        love.graphics.printf(("%d:%02d"):format(view.phase_left_s / 60, view.phase_left_s % 60), 0, 8, width, "center")
    end
    if own.exists and game.rules and game.rules.weapon_count > 0 then
        local text = own.reload_ticks > 0 and "reloading" or
            ("%d / %d"):format(own.magazine[own.weapon], own.reserve[own.weapon])
        love.graphics.printf(text, 0, height - 38, width - 24, "right")
    end
    local text = headline(game) or ""
    love.graphics.setColor(0, 0, 0)
    love.graphics.printf(text, 2, height * 0.65 + 2, width, "center") -- a shadow, to be read over walls
    love.graphics.setColor(1, 1, 1)
    love.graphics.printf(text, 0, height * 0.65, width, "center")
    love.graphics.setFont(draw.font)
    love.graphics.setColor(0.7, 0.7, 0.7)
    love.graphics.print((game.mode == "serpent" and "A, D turn   mouse boosts" or
        "WASD move   mouse aim, fire   space dash   R reload   E use") .. "   tab figures   escape leave", 16, height - 29)
end

function draw.frame(game)
    love.graphics.setFont(draw.font)
    if game.map then
        love.graphics.push()
        aim_camera(game)
        draw_arena(game)
        for i = 0, game.view.entity_count - 1 do
            draw_entity(game, game.view.entities[i])
        end
        draw_tracers(game)
        love.graphics.pop()
        draw_names(game)
        draw_scores(game.view)
        if draw.details then
            draw_figures(game)
        end
    end
    draw_status(game)
end

return draw
