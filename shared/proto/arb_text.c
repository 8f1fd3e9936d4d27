#include "shared/proto/arb_proto.h"

#include <string.h>

/* One code point of UTF-8 at `bytes`: its length, 0 when malformed (overlong, surrogate, beyond
 * U+10FFFF, cut). */
static size_t code_point(const uint8_t *bytes, size_t size, uint32_t *out)
{
    static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
    uint8_t lead = bytes[0];
    size_t length = lead < 0x80       ? 1
                    : lead >> 5 == 6  ? 2
                    : lead >> 4 == 14 ? 3
                    : lead >> 3 == 30 ? 4
                                      : 0;
    if (length == 0 || length > size) {
        return 0;
    }
    uint32_t value = length == 1 ? lead : lead & (0x7FU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xC0) != 0x80) {
            return 0;
        }
        value = value << 6 | (bytes[i] & 0x3FU);
    }
    bool surrogate = value >= 0xD800 && value <= 0xDFFF;
    if (value < smallest[length] || surrogate || value > 0x10FFFF) {
        return 0;
    }
    *out = value;
    return length;
}

bool arb_proto_text_valid(const char *text, size_t size)
{
    const uint8_t *bytes = (const uint8_t *)text;
    size_t at = 0;
    while (at < size) {
        uint32_t value = 0;
        size_t length = code_point(bytes + at, size - at, &value);
        bool control = value < 0x20 || (value >= 0x7F && value <= 0x9F);
        if (length == 0 || control) {
            return false;
        }
        at += length;
    }
    return true;
}

bool arb_proto_name_valid(const char name[ARB_NAME_BYTES])
{
    const char *end = memchr(name, '\0', ARB_NAME_BYTES);
    return end != NULL && arb_proto_text_valid(name, (size_t)(end - name));
}
