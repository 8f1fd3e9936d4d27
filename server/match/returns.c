/* Stage 1 of those who come, come back or are away for too long: from the secret that a session has
 * or shows to the command of a slot (spec/client.md "Reconnect with a resume token"). */
#include "server/match/match_internal.h"

#include "shared/base/arb_assert.h"

#include <string.h>

/* Time tells nothing of a hash that is worth knowing: whoever has it still lacks the token. */
static uint16_t slot_of_token(const struct match *match,
                              const uint8_t token_hash[PORT_TOKEN_HASH_BYTES])
{
    uint16_t found = ARB_NO_SLOT;
    for (uint16_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        const struct match_seat *seat = &match->seats[slot];
        bool equal = memcmp(seat->token_hash, token_hash, sizeof seat->token_hash) == 0;
        if (equal && seat->seated && found == ARB_NO_SLOT) found = slot;
    }
    return found;
}

struct match_command returns_command(struct match *match, const struct port_message *message)
{
    struct match_command command = {.type = MATCH_COMMAND_JOIN, .session = message->session};
    memcpy(command.name, message->name, sizeof command.name);
    memcpy(command.token_hash, message->token_hash, sizeof command.token_hash);
    memcpy(match->tokens[message->session.index], message->token, ARB_TOKEN_BYTES);
    if (message->resume) {
        command.type = MATCH_COMMAND_RETURN;
        command.slot = slot_of_token(match, command.token_hash);
    }
    return command;
}

static struct match_command *return_of(struct match *match, uint16_t slot)
{
    for (uint32_t i = 0; i < match->command_count; i++) {
        struct match_command *command = &match->commands[i];
        if (command->type == MATCH_COMMAND_RETURN && command->slot == slot) return command;
    }
    return NULL;
}

/* The end of a session that another one of the same tick takes over comes first, and is the end of
 * no player then. */
void returns_end_session(struct match *match, uint16_t slot, bool may_return)
{
    ARB_ASSERT(match->command_count < match->command_capacity);
    struct match_command *taker = return_of(match, slot);
    struct match_command *place = &match->commands[match->command_count++];
    bool away = taker != NULL || (may_return && match->config.rejoin_grace_s > 0);
    if (taker != NULL) {
        memmove(taker + 1, taker, (size_t)(place - taker) * sizeof *taker);
        place = taker;
    }
    *place = (struct match_command){.type = away ? MATCH_COMMAND_AWAY : MATCH_COMMAND_LEAVE,
                                    .slot = slot};
}

void match_detach(struct match *match)
{
    for (uint16_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        struct match_seat *seat = &match->seats[slot];
        if (!seat->seated || !seat->has_session) continue;
        bool away = match->world.players[slot].presence == WORLD_AWAY;
        seat->detached = true;
        if (!away) returns_end_session(match, slot, true);
    }
    spectators_told(match);
}

void returns_expire(struct match *match)
{
    for (uint16_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        const struct match_seat *seat = &match->seats[slot];
        bool away = seat->seated && match->world.players[slot].presence == WORLD_AWAY;
        if (away && match->world.head->tick >= seat->away_until &&
            match->command_count < match->command_capacity) {
            match->commands[match->command_count++] =
                (struct match_command){.type = MATCH_COMMAND_LEAVE, .slot = slot};
        }
    }
}
