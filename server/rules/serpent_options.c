/* The option rows of the serpent mode: every number of the game comes from here. */
#include "server/rules/serpent_internal.h"

#define AT(member) OPTION_AT(struct serpent_params, member)

const struct option serpent_options[] = {
    {"serpent.base_speed", OPTION_NUMBER, AT(base_speed), 0.1, 100, "5", .unit = "m/s",
     .doc = "Speed of a head; it never stops."},
    {"serpent.boost_speed", OPTION_NUMBER, AT(boost_speed), 0.1, 200, "9", .unit = "m/s",
     .doc = "Speed while the server grants boost."},
    {"serpent.turn_rate", OPTION_NUMBER, AT(turn_rate), 0.01, 50, "3.1415927", .unit = "rad/s",
     .doc = "How fast a head turns. Speed divided by this is the radius of its tightest circle."},
    {"serpent.head_radius_m", OPTION_NUMBER, AT(head_radius_m), 0.05, 10, "0.5", .unit = "m",
     .doc = "Radius of a head."},
    {"serpent.body_radius_m", OPTION_NUMBER, AT(body_radius_m), 0.05, 10, "0.4", .unit = "m",
     .doc = "Radius of a body."},
    {"serpent.body_spacing_m", OPTION_NUMBER, AT(body_spacing_m), 0.05, 10, "0.5", .unit = "m",
     .doc = "Distance between the points of a body along its path. Smaller follows curves closer "
            "and costs bytes and time."},
    {"serpent.start_length_m", OPTION_NUMBER, AT(start_length_m), 0, 500, "4", .unit = "m",
     .reload = true, .doc = "Length of a new serpent's body."},
    {"serpent.max_length_m", OPTION_NUMBER, AT(max_length_m), 0.1, 500, "100", .unit = "m",
     .doc = "Length at which bodies stop to grow; with body_spacing_m it sets the memory of a "
            "body."},
    {"serpent.growth_m", OPTION_NUMBER, AT(growth_m), 0, 100, "0.25", .unit = "m", .reload = true,
     .doc = "Length that a body grows for each point of food's value."},
    {"serpent.boost_min_length_m", OPTION_NUMBER, AT(boost_min_length_m), 0, 500, "3", .unit = "m",
     .reload = true, .doc = "Boost is granted only to bodies longer than this."},
    {"serpent.boost_cost", OPTION_NUMBER, AT(boost_cost), 0, 100, "1", .unit = "m/s",
     .reload = true, .doc = "Length that a body loses per second of boost."},
    {"serpent.boost_drop_m", OPTION_NUMBER, AT(boost_drop_m), 0, 100, "0.5", .unit = "m",
     .reload = true,
     .doc = "A boosting serpent leaves food of food_value at its tail each time it lost so much "
            "length; 0: never."},
    {"serpent.food_radius_m", OPTION_NUMBER, AT(food_radius_m), 0.05, 10, "0.3", .unit = "m",
     .doc = "Radius of food; a head that touches it eats it."},
    {"serpent.food_value", OPTION_INT, AT(food_value), 1, 255, "1", .unit = "points",
     .reload = true,
     .doc = "Value of food that is sown or left by boost, and of the map's where it says "
            "nothing."},
    {"serpent.food_count", OPTION_INT, AT(food_count), 0, 4096, "200", .unit = "", .reload = true,
     .doc = "Food is sown over the whole map until so many of it lie there."},
    {"serpent.food_per_s", OPTION_NUMBER, AT(food_per_s), 0, 10000, "20", .unit = "1/s",
     .reload = true,
     .doc = "How many are sown per second at most, once the round runs; it begins with all of "
            "them."},
    {"serpent.food_respawn_s", OPTION_NUMBER, AT(food_respawn_s), 0.1, 3600, "10", .unit = "s",
     .reload = true,
     .doc = "Time until eaten food of the map is there again, where the map says nothing."},
    {"serpent.food_max", OPTION_INT, AT(food_max), 0, 6000, "1000", .unit = "",
     .doc = "Most food of all kinds at one time; what would come beyond it is left out."},
    {"serpent.death_food_spacing_m", OPTION_NUMBER, AT(death_food_spacing_m), 0, 100, "1",
     .unit = "m", .reload = true,
     .doc = "The dead turn into food: one piece for each so many metres of their body; 0: they do "
            "not."},
    {"serpent.death_food_value", OPTION_INT, AT(death_food_value), 1, 255, "2", .unit = "points",
     .reload = true, .doc = "Value of a piece of food that the dead turn into."},
    {"serpent.respawn_ms", OPTION_INT, AT(respawn_ms), 0, 600000, "2000", .unit = "ms",
     .reload = true, .doc = "Time between death and the next serpent, rounded up to whole ticks."},
    {"serpent.spawn_candidates", OPTION_INT, AT(spawn_candidates), 1, 256, "16", .unit = "",
     .reload = true,
     .doc = "Places and headings that are looked at for a spawn, and places for a piece of food; "
            "more find better ones and cost time."},
    {"serpent.spawn_clearance_m", OPTION_NUMBER, AT(spawn_clearance_m), 0, 100, "3", .unit = "m",
     .reload = true,
     .doc = "Free room that a new head should have around it, from heads and bodies."},
    {"serpent.spawn_ahead_m", OPTION_NUMBER, AT(spawn_ahead_m), 0, 100, "8", .unit = "m",
     .reload = true, .doc = "Way without walls that a new head should have before it."},
    {"serpent.score", OPTION_CHOICE, AT(score), 0, 1, "\"length\"", "length|food", .unit = "",
     .doc = "What counts: the greatest length reached in the round in whole metres, or the value "
            "of all food eaten."},
    {"serpent.score_limit", OPTION_INT, AT(score_limit), 0, 1000000, "0", .unit = "points",
     .reload = true, .doc = "Score of a player that ends the round; 0: only time does."},
};

_Static_assert(sizeof serpent_options / sizeof serpent_options[0] == SERPENT_OPTIONS,
               "all are counted");
