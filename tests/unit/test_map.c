#define _GNU_SOURCE
#include "tests/unit/config_rig.h"

#include "server/config/config.h"
#include "server/rules/arena_internal.h"
#include "shared/move/arb_geometry.h"

#include <math.h>

static struct map map;
static struct arb_arena arena;

static void set_up(void)
{
    arb_arena_init(&arena);
}

static void tear_down(void)
{
    arb_arena_free(&arena);
    rig_clean();
}

TestSuite(map, .init = set_up, .fini = tear_down);

static enum arb_result load_text(const char *text)
{
    return map_load(&map, &arena, rig_write("m.tmj", text, strlen(text)), &rig_error);
}

/* 20 x 10 m, 10 pixels a metre: world (-10, -5) to (10, 5), pixel (100, 50) is its middle. */
#define HEAD                                                                                       \
    "{\"type\":\"map\",\"orientation\":\"orthogonal\",\"width\":20,\"height\":10,"                 \
    "\"tilewidth\":10,\"tileheight\":10,\"properties\":"                                           \
    "[{\"name\":\"metres_per_pixel\",\"type\":\"float\",\"value\":0.1}],\"layers\":["
#define LAYER "{\"type\":\"objectgroup\",\"name\":\"walls\",\"objects\":[\n"

/* The objects as the one layer of a map; they begin at line 2, column 1. */
static enum arb_result load_objects(const char *objects)
{
    static char text[65536];
    snprintf(text, sizeof text, HEAD LAYER "%s\n]}]}", objects);
    return load_text(text);
}

static void expect_point(struct arb_vec2 point, double x, double y)
{
    cr_expect_float_eq((double)point.x, x, 1e-5, "x %.9g, not %.9g", (double)point.x, x);
    cr_expect_float_eq((double)point.y, y, 1e-5, "y %.9g, not %.9g", (double)point.y, y);
}

static void expect_corners(const struct arb_shape *shape, const double (*corners)[2], int count)
{
    cr_assert_eq(shape->type, ARB_SHAPE_POLYGON);
    cr_assert_eq(shape->count, count);
    cr_expect(arb_geometry_shape_valid(shape));
    for (int i = 0; i < count; i++) { /* some corner is there, whatever comes first */
        bool found = false;
        for (int k = 0; k < count; k++) {
            found |= fabs((double)shape->points[k].x - corners[i][0]) < 1e-5 &&
                     fabs((double)shape->points[k].y - corners[i][1]) < 1e-5;
        }
        cr_expect(found, "no corner (%g, %g)", corners[i][0], corners[i][1]);
    }
}

Test(map, y_points_up_and_the_middle_is_the_origin)
{
    cr_assert_eq(load_objects("{\"id\":1,\"x\":0,\"y\":0,\"width\":20,\"height\":10}"), ARB_OK,
                 "%s", rig_error.text);
    expect_point(map.bounds.low, -10, -5);
    expect_point(map.bounds.high, 10, 5);
    expect_corners(&map.shapes[0], (const double[][2]){{-10, 5}, {-8, 5}, {-8, 4}, {-10, 4}}, 4);
}

Test(map, rectangles_turn_clockwise_about_their_upper_left_corner)
{
    cr_assert_eq(
        load_objects("{\"id\":1,\"x\":100,\"y\":50,\"width\":40,\"height\":20,\"rotation\":90}"),
        ARB_OK);
    expect_corners(&map.shapes[0], (const double[][2]){{0, 0}, {0, -4}, {-2, -4}, {-2, 0}}, 4);
    cr_assert_eq(
        load_objects("{\"id\":1,\"x\":100,\"y\":50,\"width\":40,\"height\":20,\"rotation\":-30}"),
        ARB_OK);
    double c = cos(M_PI / 6), s = 0.5;
    expect_corners(&map.shapes[0],
                   (const double[][2]){
                       {0, 0}, {4 * c, 4 * s}, {4 * c + 2 * s, 4 * s - 2 * c}, {2 * s, -2 * c}},
                   4);
}

Test(map, an_ellipse_with_equal_sides_is_a_circle)
{
    cr_assert_eq(
        load_objects("{\"id\":1,\"x\":90,\"y\":20,\"width\":20,\"height\":20,\"ellipse\":true},"
                     "{\"id\":2,\"x\":100,\"y\":50,\"width\":20,\"height\":20,\"ellipse\":true,"
                     "\"rotation\":90}"),
        ARB_OK);
    cr_assert_eq(map.shapes[0].type, ARB_SHAPE_CIRCLE);
    expect_point(map.shapes[0].points[0], 0, 2);
    cr_assert_eq(map.shapes[0].radius, 1.0F);
    expect_point(map.shapes[1].points[0], -1, -1);
}

static double area_of(const struct arb_shape *shape)
{
    double area = 0;
    for (int i = 0; i < shape->count; i++) {
        struct arb_vec2 a = shape->points[i], b = shape->points[(i + 1) % shape->count];
        area += 0.5 * ((double)a.x * (double)b.y - (double)b.x * (double)a.y);
    }
    return area;
}

static double whole_area(void)
{
    double area = 0;
    for (uint32_t i = 0; i < map.shape_count; i++) {
        cr_expect(arb_geometry_shape_valid(&map.shapes[i]));
        area += area_of(&map.shapes[i]);
    }
    return area;
}

Test(map, other_ellipses_become_polygons_close_to_them)
{
    cr_assert_eq(
        load_objects("{\"id\":1,\"x\":40,\"y\":30,\"width\":120,\"height\":40,\"ellipse\":true}"),
        ARB_OK);
    cr_assert_float_eq(whole_area(), M_PI * 6 * 2, 0.2);
    for (uint32_t i = 0; i < map.shape_count; i++) {
        for (int k = 0; k < map.shapes[i].count; k++) {
            struct arb_vec2 p = map.shapes[i].points[k];
            double x = (double)p.x / 6, y = (double)p.y / 2;
            cr_expect_float_eq(x * x + y * y, 1.0, 1e-4);
        }
    }
}

Test(map, a_polyline_is_a_chain_of_capsules)
{
    cr_assert_eq(
        load_objects("{\"id\":1,\"x\":100,\"y\":50,\"polyline\":[{\"x\":0,\"y\":0},{\"x\":10,"
                     "\"y\":0},{\"x\":10,\"y\":0.1},{\"x\":10,\"y\":-20}],\"properties\":"
                     "[{\"name\":\"thickness_m\",\"value\":0.5}]}"),
        ARB_OK, "%s", rig_error.text);
    cr_assert_eq(map.shape_count, 2, "what is shorter than 2 cm is joined to the next");
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(map.shapes[i].type, ARB_SHAPE_CAPSULE);
        cr_assert_eq(map.shapes[i].radius, 0.25F);
        cr_assert(arb_geometry_shape_valid(&map.shapes[i]));
    }
    expect_point(map.shapes[0].points[1], 1, 0);
    expect_point(map.shapes[1].points[0], 1, 0);
    expect_point(map.shapes[1].points[1], 1, 2);
}

Test(map, concave_polygons_are_split_in_either_direction)
{
    const char *const both[] = {
        "{\"id\":1,\"x\":50,\"y\":30,\"polygon\":[{\"x\":0,\"y\":0},{\"x\":60,\"y\":0},{\"x\":60,"
        "\"y\":20},"
        "{\"x\":20,\"y\":20},{\"x\":20,\"y\":40},{\"x\":0,\"y\":40}]}",
        "{\"id\":1,\"x\":50,\"y\":30,\"polygon\":[{\"x\":0,\"y\":40},{\"x\":20,\"y\":40},{\"x\":20,"
        "\"y\":20},{\"x\":60,\"y\":20},{\"x\":60,\"y\":0},{\"x\":0,\"y\":0}]}"};
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(load_objects(both[i]), ARB_OK, "%s", rig_error.text);
        cr_expect_eq(map.shape_count, 2);
        cr_expect_float_eq(whole_area(), 6 * 2 + 2 * 2, 1e-4);
    }
}

Test(map, groups_and_layers_move_what_is_in_them)
{
    const char *text =
        HEAD "{\"type\":\"group\",\"name\":\"g\",\"offsetx\":10,\"offsety\":20,\"layers\":["
             "{\"type\":\"tilelayer\",\"name\":\"t\",\"data\":[1,2]},{\"type\":\"imagelayer\","
             "\"name\":\"i\"},"
             "{\"type\":\"objectgroup\",\"name\":\"o\",\"offsetx\":5,\"objects\":["
             "{\"id\":1,\"x\":85,\"y\":30,\"point\":true,\"type\":\"spawn\"}]}]}]}";
    cr_assert_eq(load_text(text), ARB_OK, "%s", rig_error.text);
    cr_assert_eq(map.spawn_count, 1);
    expect_point(map.spawns[0].low, 0, 0);
}

Test(map, spawns_and_pickups_keep_their_properties)
{
    cr_assert_eq(
        load_objects(
            "{\"id\":1,\"name\":\"left\",\"class\":\"spawn\",\"x\":20,\"y\":20,\"width\":30,"
            "\"height\":10,\"properties\":[{\"name\":\"team\",\"value\":2}]},"
            "{\"id\":2,\"type\":\"spawn\",\"x\":150,\"y\":50,\"point\":true},"
            "{\"id\":3,\"type\":\"pickup\",\"x\":100,\"y\":50,\"point\":true,\"properties\":["
            "{\"name\":\"kind\",\"value\":\"health\"},{\"name\":\"value\",\"value\":50},"
            "{\"name\":\"respawn_s\",\"value\":2.5}]}"),
        ARB_OK, "%s", rig_error.text);
    cr_assert_eq(map.spawn_count, 2);
    cr_assert_eq(map.spawns[0].team, 2);
    cr_assert_str_eq(map.spawns[0].name, "left");
    expect_point(map.spawns[0].low, -8, 2);
    expect_point(map.spawns[0].high, -5, 3);
    cr_assert_eq(map.spawns[1].team, 0);
    expect_point(map.spawns[1].high, 5, 0);
    cr_assert_str_eq(map.pickups[0].type, "health");
    cr_assert_eq(map.pickups[0].value, 50);
    cr_assert_eq(map.pickups[0].respawn_s, 2.5F);
    cr_assert_eq(map.shape_count, 0);
}

Test(map, texts_are_remarks)
{
    cr_assert_eq(
        load_objects(
            "{\"id\":1,\"x\":0,\"y\":0,\"width\":9,\"height\":9,\"text\":{\"text\":\"hi\"}}"),
        ARB_OK);
    cr_assert_eq(map.shape_count, 0);
}

Test(map, bounds_may_be_given)
{
    const char *text = "{\"type\":\"map\",\"orientation\":\"orthogonal\",\"infinite\":true,"
                       "\"layers\":[],\"properties\":["
                       "{\"name\":\"bounds\",\"value\":\"-100 -50 200 300\"},"
                       "{\"name\":\"metres_per_pixel\",\"value\":0.5}]}";
    cr_assert_eq(load_text(text), ARB_OK, "%s", rig_error.text);
    expect_point(map.bounds.low, -50, -75);
    expect_point(map.bounds.high, 50, 75);
}

/* Objects of a layer "walls" that begins in line 2, and how the message begins. */
static const char *const bad_objects[][2] = {
    {"7", "m.tmj:2:1: layers[0].objects[0]: layer \"walls\": allowed: an object"},
    {"{\"id\":4,\"name\":\"a\",\"x\":0,\"y\":0,\"width\":9,\"height\":9,\"type\":\"door\"}",
     "m.tmj:2:1: layers[0].objects[0]: layer \"walls\", object 4 \"a\": unknown class \"door\"; "
     "allowed: none, wall, spawn, pickup"},
    {"{\"id\":4,\"x\":0,\"y\":0,\"gid\":1}",
     "m.tmj:2:1: layers[0].objects[0]: layer \"walls\", object 4 \"\": is a tile; allowed:"},
    {"{\"id\":4,\"x\":0,\"y\":0,\"template\":\"t.tx\"}",
     "m.tmj:2:1: layers[0].objects[0]: layer \"walls\", object 4 \"\": comes from a template"},
    {"{\"id\":4,\"x\":0,\"y\":0,\"text\":{},\"type\":\"spawn\"}",
     "m.tmj:2:1: layers[0].objects[0]: layer \"walls\", object 4 \"\": is a text"},
    {"{\"id\":4,\"x\":0,\"y\":0,\"point\":true}",
     "m.tmj:2:1: layers[0].objects[0]: layer \"walls\", object 4 \"\": a point is no wall"},
    {"{\"id\":4,\"x\":0,\"y\":0,\"width\":9,\"height\":0}",
     "m.tmj:2:1: layers[0].objects[0]: layer \"walls\", object 4 \"\": has no size"},
    {"{\"id\":4,\"x\":0,\"y\":0,\"width\":0.1,\"height\":0.1,\"ellipse\":true}",
     "m.tmj:2:1: layers[0].objects[0]: layer \"walls\", object 4 \"\": is thinner than 2 cm"},
    {"{\"id\":4,\"x\":0,\"y\":0,\"width\":9,\"height\":0.1}",
     "m.tmj:2:1: layers[0].objects[0]: layer \"walls\", object 4 \"\": is thinner than 2 cm"},
    {"{\"id\":4,\"x\":0,\"y\":1e999}",
     "m.tmj:2:19: layers[0].objects[0].y: layer \"walls\", object 4 \"\": y; allowed"},
    {"{\"id\":4,\"x\":\"0\",\"y\":1}",
     "m.tmj:2:13: layers[0].objects[0].x: layer \"walls\", object 4 \"\": x; allowed"},
    {"{\"id\":4,\"y\":1}",
     "m.tmj:2:1: layers[0].objects[0]: layer \"walls\", object 4 \"\": x and y"},
    {"{\"id\":4,\"x\":NaN}", "m.tmj:2:13: layers[0].objects[0].x: NaN"},
    {"{\"id\":4,\"x\":0,\"y\":0,\"width\":90000,\"height\":9}",
     "m.tmj:2:1: layers[0].objects[0]: layer \"walls\", object 4 \"\": reaches beyond 4096 m"},
    {"{\"id\":4,\"x\":0,\"y\":0,\"polygon\":[{\"x\":0,\"y\":0},{\"x\":50,\"y\":50},{\"x\":50,\"y\":"
     "0},"
     "{\"x\":0,\"y\":50}]}",
     "m.tmj:2:1: layers[0].objects[0]: layer \"walls\", object 4 \"\": its edges cross or touch"},
    {"{\"id\":4,\"x\":0,\"y\":0,\"polygon\":[{\"x\":0,\"y\":0},{\"x\":50,\"y\":0},{\"x\":90,\"y\":"
     "0}]}",
     "m.tmj:2:1: layers[0].objects[0]: layer \"walls\", object 4 \"\": is thinner than 2 cm"},
    {"{\"id\":4,\"x\":0,\"y\":0,\"polygon\":[{\"x\":0,\"y\":0}]}",
     "m.tmj:2:31: layers[0].objects[0].polygon: layer \"walls\", object 4 \"\": allowed: an array "
     "of 2"},
    {"{\"id\":4,\"x\":0,\"y\":0,\"polygon\":[{\"x\":0,\"y\":0},{\"x\":1},{\"x\":9,\"y\":9}]}",
     "m.tmj:2:46: layers[0].objects[0].polygon[1]: layer \"walls\", object 4 \"\": allowed: a "
     "point"},
    {"{\"id\":4,\"x\":0,\"y\":0,\"polyline\":[{\"x\":0,\"y\":0},{\"x\":9,\"y\":0}]}",
     "m.tmj:2:1: layers[0].objects[0]: layer \"walls\", object 4 \"\": a polyline needs the "
     "property "
     "thickness_m; allowed: a number from 0.02 to 100"},
    {"{\"id\":4,\"x\":0,\"y\":0,\"polyline\":[{\"x\":0,\"y\":0},{\"x\":0,\"y\":0}],\"properties\":["
     "{"
     "\"name\":\"thickness_m\",\"value\":1}]}",
     "m.tmj:2:1: layers[0].objects[0]: layer \"walls\", object 4 \"\": has no length"},
    {"{\"id\":4,\"x\":0,\"y\":0,\"width\":9,\"height\":9,\"properties\":[{\"name\":\"thicknes\","
     "\"value\":1}]}",
     "m.tmj:2:56: layers[0].objects[0].properties[0]: layer \"walls\", object 4 \"\": unknown "
     "property "
     "\"thicknes\"; allowed: thickness_m"},
    {"{\"id\":4,\"x\":10,\"y\":10,\"point\":true,\"type\":\"spawn\",\"properties\":[{\"name\":"
     "\"team\","
     "\"value\":3}]}",
     "m.tmj:2:88: layers[0].objects[0].properties[0].value: layer \"walls\", object 4 \"\": "
     "property "
     "team; allowed: an integer from 0 to 2"},
    {"{\"id\":4,\"x\":10,\"y\":10,\"point\":true,\"type\":\"pickup\"}",
     "m.tmj:2:1: layers[0].objects[0]: layer \"walls\", object 4 \"\": a pickup needs the property "
     "kind"},
    {"{\"id\":4,\"x\":10,\"y\":10,\"width\":9,\"height\":9,\"rotation\":45,\"type\":\"spawn\"}",
     "m.tmj:2:1: layers[0].objects[0]: layer \"walls\", object 4 \"\": an area cannot be turned"},
    {"{\"id\":4,\"x\":10,\"y\":10,\"width\":9,\"height\":9,\"ellipse\":true,\"type\":\"spawn\"}",
     "m.tmj:2:1: layers[0].objects[0]: layer \"walls\", object 4 \"\": an ellipse is not allowed"},
    {"{\"id\":4,\"x\":10,\"y\":10,\"point\":true,\"type\":\"spawn\"},\n"
     "{\"id\":5,\"x\":10,\"y\":10,\"point\":true,\"type\":\"spawn\"}",
     "m.tmj:3:1: layers[0].objects[1]: layer \"walls\", object 5 \"\": overlaps the spawn of "
     "object 4"},
    {"{\"id\":4,\"x\":10,\"y\":10,\"width\":50,\"height\":50,\"type\":\"spawn\"},\n"
     "{\"id\":5,\"x\":59,\"y\":59,\"width\":20,\"height\":20,\"type\":\"spawn\"}",
     "m.tmj:3:1: layers[0].objects[1]: layer \"walls\", object 5 \"\": overlaps the spawn of "
     "object 4"},
    {"{\"id\":4,\"x\":10,\"y\":10,\"width\":50,\"height\":50,\"type\":\"spawn\"},\n"
     "{\"id\":5,\"x\":30,\"y\":30,\"point\":true,\"type\":\"spawn\"}",
     "m.tmj:3:1: layers[0].objects[1]: layer \"walls\", object 5 \"\": overlaps the spawn of "
     "object 4"},
    {"{\"id\":4,\"x\":10,\"y\":10,\"width\":50,\"height\":50},\n"
     "{\"id\":5,\"x\":30,\"y\":30,\"point\":true,\"type\":\"spawn\"}",
     "m.tmj:3:1: layers[0].objects[1]: layer \"walls\", object 5 \"\": is inside a wall"},
    {"{\"id\":4,\"x\":10,\"y\":10,\"width\":50,\"height\":50},\n"
     "{\"id\":5,\"x\":20,\"y\":20,\"width\":9,\"height\":9,\"type\":\"spawn\"}",
     "m.tmj:3:1: layers[0].objects[1]: layer \"walls\", object 5 \"\": is inside a wall"},
    {"{\"id\":5,\"x\":201,\"y\":20,\"point\":true,\"type\":\"spawn\"}",
     "m.tmj:2:1: layers[0].objects[0]: layer \"walls\", object 5 \"\": reaches out of the map's "
     "bounds"},
};

Test(map, what_a_map_may_not_hold_is_refused_with_layer_and_object)
{
    for (size_t i = 0; i < sizeof bad_objects / sizeof bad_objects[0]; i++) {
        cr_expect_eq(load_objects(bad_objects[i][0]), ARB_CONFIG, "%s", bad_objects[i][0]);
        cr_expect(rig_begins(rig_text(), bad_objects[i][1]), "%s gives\n%s instead of\n%s",
                  bad_objects[i][0], rig_text(), bad_objects[i][1]);
        cr_expect_null(strchr(rig_error.text, '\n'));
    }
}

#define SIZE "\"width\":20,\"height\":10,\"tilewidth\":10,\"tileheight\":10,"
#define SCALE(value) "\"properties\":[{\"name\":\"metres_per_pixel\",\"value\":" value "}]"
#define KIND "{\"orientation\":\"orthogonal\","

static const char *const bad_maps[][2] = {
    {"", "m.tmj:1:1: the text ends too early"},
    {"[]", "m.tmj:1:1: is no Tiled map"},
    {"{\"type\":\"tileset\"}", "m.tmj:1:1: is no Tiled map"},
    {"{\"orientation\":\"isometric\"}",
     "m.tmj:1:16: orientation: only orthogonal maps can be read"},
    {"{}", "m.tmj:1:1: only orthogonal maps"},
    {KIND SIZE "\"layers\":[]}", "m.tmj:1:1: the map needs the property metres_per_pixel"},
    {KIND SIZE SCALE("0") "}",
     "m.tmj:1:132: properties[0].value: property metres_per_pixel; allowed"},
    {KIND SIZE SCALE("\"1\"") "}", "m.tmj:1:132: properties[0].value: property metres_per_pixel"},
    {KIND SIZE SCALE("100") ",\"layers\":[]}", "m.tmj:1:1: the map's size; allowed: 1 to 8192 m"},
    {KIND SCALE("1") ",\"layers\":[]}", "m.tmj:1:1: the map needs width"},
    {KIND "\"infinite\":true," SCALE("1") "}",
     "m.tmj:1:1: an infinite map needs the property bounds"},
    {KIND SIZE SCALE("1") "}", "m.tmj:1:1: layers; allowed: an array"},
    {KIND SIZE SCALE("1") ",\"layers\":[{\"type\":\"wall\"}]}",
     "m.tmj:1:154: layers[0].type: layer \"\": type; allowed: \"objectgroup\""},
    {KIND SIZE SCALE("1") ",\"layers\":[{\"type\":\"objectgroup\"}]}",
     "m.tmj:1:146: layers[0]: layer \"\": objects; allowed: an array"},
    {KIND
     "\"properties\":[{\"name\":\"bounds\",\"value\":\"1 2 3\"},{\"name\":\"metres_per_pixel\","
     "\"value\":1}]}",
     "m.tmj:1:68: properties[0].value: property bounds; allowed: \"left top width height\""},
    {KIND
     "\"properties\":[{\"name\":\"bounds\",\"value\":\"0 0 nan 9\"},{\"name\":\"metres_per_pixel\","
     "\"value\":1}]}",
     "m.tmj:1:68: properties[0].value: property bounds"},
};

Test(map, what_is_no_usable_map_is_refused_with_its_place)
{
    for (size_t i = 0; i < sizeof bad_maps / sizeof bad_maps[0]; i++) {
        cr_expect_eq(load_text(bad_maps[i][0]), ARB_CONFIG, "%s", bad_maps[i][0]);
        cr_expect(rig_begins(rig_text(), bad_maps[i][1]), "%s gives\n%s instead of\n%s",
                  bad_maps[i][0], rig_text(), bad_maps[i][1]);
    }
}

Test(map, missing_and_huge_files_are_refused_quickly)
{
    cr_assert_eq(map_load(&map, &arena, "/nowhere/m.tmj", &rig_error), ARB_CONFIG);
    cr_assert(rig_begins(rig_error.text, "/nowhere/m.tmj: cannot be opened: No such file"));
    const char *big = rig_write("big", "", 0);
    cr_assert_eq(truncate(big, 100L * 1000 * 1000), 0);
    cr_assert_eq(map_load(&map, &arena, big, &rig_error), ARB_CONFIG);
    cr_assert_not_null(strstr(rig_error.text, "is too large; allowed: at most 16777216 bytes"));
}
