/* SPDX-License-Identifier: MIT */
/* Text of a picture. */
#ifndef SVG_TEXT_H
#define SVG_TEXT_H

#include <stdio.h>

/* Writes a text between tags. */
static inline void svg_write_text(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        case '&':
            fputs("&amp;", file);
            break;
        default:
            fputc(*text, file);
        }
    }
}

#endif
