/* Shapes with soft edges on SDL's renderer, which has none of its own: each outline is filled, and
 * surrounded by a rim of about a pixel that fades out. Text by a font of dots. */
#include "tools/play/play.h"

enum { OUTLINE_MAX = 96, ARC_MAX = 64, FONT_FIRST = ' ', FONT_COUNT = 95 };

#define TURN 6.2831853F
#define RIM_PX 1.4F

/* 5 x 7 dots each from ' ' on, row by row from the upper left, highest bit first. */
static const uint64_t font[FONT_COUNT] = {
    0x000000000, 0x108421004, 0x294A00000, 0x295F57D4A, 0x11F4717C4, 0x632222263, 0x32544564D,
    0x108800000, 0x088842082, 0x208210888, 0x009575480, 0x0084F9080, 0x000003088, 0x0000F8000,
    0x00000018C, 0x002222200, 0x3A33AE62E, 0x11842108E, 0x3A213221F, 0x7C441062E, 0x08CA97C42,
    0x7E1E0862E, 0x1910F462E, 0x7C2222108, 0x3A317462E, 0x3A317844C, 0x018C03180, 0x018C03088,
    0x088882082, 0x001F07C00, 0x208208888, 0x3A2111004, 0x3A216D6AE, 0x3A31FC631, 0x7A31F463E,
    0x3A308422E, 0x7A318C63E, 0x7E10F421F, 0x7E10F4210, 0x3A30BC62F, 0x4631FC631, 0x38842108E,
    0x1C4210A4C, 0x4654C5251, 0x42108421F, 0x4775AC631, 0x47359C631, 0x3A318C62E, 0x7A31F4210,
    0x3A318D64D, 0x7A31F5251, 0x3E107043E, 0x7C8421084, 0x46318C62E, 0x46318C544, 0x4631AD771,
    0x462A22A31, 0x462A21084, 0x7C222221F, 0x39084210E, 0x020820820, 0x38421084E, 0x115100000,
    0x00000001F, 0x208200000, 0x000E0BE2F, 0x4216CC63E, 0x000E8422E, 0x042D9C62F, 0x000E8FE0E,
    0x1928E2108, 0x01F18BC2E, 0x4216CC631, 0x100C2108E, 0x080610A4C, 0x4212A6292, 0x30842108E,
    0x001AAD631, 0x0016CC631, 0x000E8C62E, 0x001E8FA10, 0x000D9BC21, 0x0016CC210, 0x000E8383E,
    0x211C42126, 0x00118C66D, 0x00118C544, 0x00118D6AA, 0x001151151, 0x00118BC2E, 0x001F1111F,
    0x088441082, 0x108421084, 0x208411088, 0x0008A8800,
};

bool play_paint_open(struct play_paint *paint)
{
    SDL_Surface *dots =
        SDL_CreateRGBSurfaceWithFormat(0, 6 * FONT_COUNT, 7, 32, SDL_PIXELFORMAT_ARGB8888);
    if (dots == NULL) {
        return false;
    }
    for (int glyph = 0; glyph < FONT_COUNT; glyph++) {
        for (int dot = 0; dot < 35; dot++) {
            uint32_t *row = (uint32_t *)((uint8_t *)dots->pixels + dot / 5 * dots->pitch);
            row[6 * glyph + dot % 5] = (font[glyph] >> (34 - dot) & 1) != 0 ? 0xFFFFFFFFU : 0;
        }
    }
    paint->font = SDL_CreateTextureFromSurface(paint->renderer, dots);
    SDL_FreeSurface(dots);
    return paint->font != NULL &&
           SDL_SetRenderDrawBlendMode(paint->renderer, SDL_BLENDMODE_BLEND) == 0;
}

SDL_FPoint play_paint_to_screen(const struct play_paint *paint, float x, float y)
{
    return (SDL_FPoint){(float)paint->width / 2 + (x - paint->x) * paint->scale,
                        (float)paint->height / 2 - (y - paint->y) * paint->scale};
}

struct arbiter_point play_paint_to_world(const struct play_paint *paint, float x, float y)
{
    return (struct arbiter_point){paint->x + (x - (float)paint->width / 2) / paint->scale,
                                  paint->y - (y - (float)paint->height / 2) / paint->scale};
}

static SDL_Vertex vertex(const struct play_paint *paint, float x, float y, SDL_Color colour)
{
    return (SDL_Vertex){.position = play_paint_to_screen(paint, x, y), .color = colour};
}

/* Direction out of the edge from a to b of a counter-clockwise outline. */
static float outward(struct arbiter_point a, struct arbiter_point b)
{
    return SDL_atan2f(a.x - b.x, b.y - a.y);
}

void play_paint_hull(const struct play_paint *paint, const struct arbiter_point *points,
                     uint32_t count, float radius, SDL_Color colour)
{
    SDL_Vertex vertices[2 * OUTLINE_MAX];
    int indices[9 * OUTLINE_MAX];
    float rim = RIM_PX / 2 / paint->scale;
    float circle = SDL_clamp(6 * SDL_sqrtf(radius * paint->scale), 8.0F, (float)ARC_MAX);
    SDL_Color faded = {colour.r, colour.g, colour.b, 0};
    int used = 0;
    for (uint32_t i = 0; i < count; i++) {
        float from = count == 1 ? 0 : outward(points[(i + count - 1) % count], points[i]);
        float arc = count == 1 ? TURN : outward(points[i], points[(i + 1) % count]) - from;
        arc += arc < 0 ? TURN : 0;
        int steps = 1 + (int)(arc / TURN * circle);
        for (int step = 0; step <= steps && used < 2 * OUTLINE_MAX; step++) {
            float angle = from + arc * (float)step / (float)steps;
            float x = SDL_cosf(angle);
            float y = SDL_sinf(angle);
            vertices[used++] = vertex(paint, points[i].x + x * (radius - rim),
                                      points[i].y + y * (radius - rim), colour);
            vertices[used++] = vertex(paint, points[i].x + x * (radius + rim),
                                      points[i].y + y * (radius + rim), faded);
        }
    }
    int index = 0;
    for (int i = 0; i < used; i += 2) {
        int next = (i + 2) % used;
        const int corners[9] = {0, i, next, i, i + 1, next, next, i + 1, next + 1};
        SDL_memcpy(indices + index, corners, sizeof corners);
        index += 9;
    }
    SDL_RenderGeometry(paint->renderer, NULL, vertices, used, indices, index);
}

void play_paint_circle(const struct play_paint *paint, float x, float y, float radius,
                       SDL_Color colour)
{
    play_paint_hull(paint, &(struct arbiter_point){x, y}, 1, radius, colour);
}

void play_paint_line(const struct play_paint *paint, float x0, float y0, float x1, float y1,
                     float width, SDL_Color colour)
{
    const struct arbiter_point ends[2] = {{x0, y0}, {x1, y1}};
    play_paint_hull(paint, ends, 2, width / 2, colour);
}

void play_paint_box(const struct play_paint *paint, float x, float y, float w, float h,
                    SDL_Color colour)
{
    SDL_SetRenderDrawColor(paint->renderer, colour.r, colour.g, colour.b, colour.a);
    SDL_RenderFillRectF(paint->renderer, &(SDL_FRect){x, y, w, h});
}

void play_paint_text(const struct play_paint *paint, float x, float y, float size, float align,
                     SDL_Color colour, const char *text)
{
    x = SDL_floorf(x - align * 6 * size * (float)SDL_strlen(text));
    SDL_SetTextureColorMod(paint->font, colour.r, colour.g, colour.b);
    SDL_SetTextureAlphaMod(paint->font, colour.a);
    for (; *text != '\0'; text++, x += 6 * size) {
        int glyph = (uint8_t)*text - FONT_FIRST;
        glyph = glyph < 0 || glyph >= FONT_COUNT ? '?' - FONT_FIRST : glyph;
        SDL_RenderCopyF(paint->renderer, paint->font, &(SDL_Rect){6 * glyph, 0, 5, 7},
                        &(SDL_FRect){x, y, 5 * size, 7 * size});
    }
}
