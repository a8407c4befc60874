/* SPDX-License-Identifier: MIT */
/* The bands of `jit-gemm plan --sweep` as a picture. */
#include <inttypes.h>
#include <math.h>

#include "plan_output.h"
#include "svg_text.h"

/* Of the picture, in its units. */
enum {
    LEFT = 70,
    TOP = 60,
    WIDTH = 1000,
    HEIGHT = 360,
    RIGHT = 30,
    AXIS = 44, /* below the chart */
    LEGEND_ROW = 18,
    STRIP = 14 /* of a kernel's colour below its line */
};

static const char *const colours[] = {"#4477aa", "#ee6677", "#228833", "#ccbb44",
                                      "#66ccee", "#aa3377", "#bbbbbb", "#000000"};
enum { COLOUR_COUNT = sizeof(colours) / sizeof(colours[0]) };

/* Both axes are logarithmic. */
struct scale {
    double first, last; /* logarithms of the ends */
    int begin, length;
};

static double place(const struct scale *scale, double value)
{
    const double width = scale->last > scale->first ? scale->last - scale->first : 1;

    return scale->begin + scale->length * (log2(value) - scale->first) / width;
}

static struct scale find_sizes(const struct sweep_picture *picture)
{
    return (struct scale){log2((double)picture->bands[0].first),
                          log2((double)picture->bands[picture->count - 1].last), LEFT,
                          WIDTH};
}

static struct scale find_times(const struct sweep_picture *picture)
{
    double least = picture->bands[0].first_us;
    double most = least;

    for (size_t i = 0; i < picture->count; i++) {
        least = fmin(least, fmin(picture->bands[i].first_us, picture->bands[i].last_us));
        most = fmax(most, fmax(picture->bands[i].first_us, picture->bands[i].last_us));
    }
    /* From below upwards, with whole powers of two around. */
    return (struct scale){floor(log2(least)), ceil(log2(most) + 1e-9), TOP + HEIGHT,
                          -HEIGHT};
}

static void write_axes(const struct scale *sizes, const struct scale *times, FILE *file)
{
    for (int power = (int)ceil(sizes->first); power <= (int)floor(sizes->last); power++) {
        const double x = place(sizes, exp2(power));

        fprintf(file,
                "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#dddddd\"/>\n"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>\n",
                x, TOP, x, TOP + HEIGHT, x, TOP + HEIGHT + STRIP + 16, exp2(power));
    }
    for (int power = (int)times->first; power <= (int)times->last; power++) {
        const double y = place(times, exp2(power));

        fprintf(file,
                "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#dddddd\"/>\n"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g us</text>\n",
                LEFT, y, LEFT + WIDTH, y, LEFT - 6, y + 4, exp2(power));
    }
}

static void write_band(const jit_gemm_band *band, const struct scale *sizes,
                       const struct scale *times, FILE *file)
{
    const char *colour = colours[band->kernel % COLOUR_COUNT];
    const double x1 = place(sizes, (double)band->first);
    const double x2 = place(sizes, (double)band->last);

    fprintf(file,
            "<g class=\"band\"><title>%" PRId64 "..%" PRId64
            ": kernel %u, %.1f to %.1f us, loss at most %.1f%% at %" PRId64 "</title>\n"
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
            "stroke-width=\"3\" stroke-linecap=\"round\"/>\n"
            "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/></g>\n",
            band->first, band->last, band->kernel, band->first_us, band->last_us,
            100 * band->loss, band->loss_size, x1, place(times, band->first_us), x2,
            place(times, band->last_us), colour, x1, TOP + HEIGHT + 2, fmax(x2 - x1, 1.5),
            STRIP - 2, colour);
}

/* A line for each kernel, in the order of their numbers; how many there are. With no file
 * nothing is written. */
static int write_legend(const struct sweep_picture *picture, int top, FILE *file)
{
    int next = 0;

    for (size_t i = 0; i < picture->count; i++) {
        const jit_gemm_band *band = &picture->bands[i];

        if (band->kernel != (uint32_t)next) {
            continue;
        }
        if (file != NULL) {
            fprintf(file,
                    "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/>\n"
                    "<text x=\"%d\" y=\"%d\">kernel %d: ",
                    LEFT, top + next * LEGEND_ROW, colours[next % COLOUR_COUNT], LEFT + 20,
                    top + next * LEGEND_ROW + 10, next);
            svg_write_text(file, band->config);
            fprintf(file, "</text>\n");
        }
        next++;
    }
    return next;
}

void sweep_write_svg(const struct sweep_picture *picture, FILE *file)
{
    const struct scale sizes = find_sizes(picture);
    const struct scale times = find_times(picture);
    const int legend = TOP + HEIGHT + AXIS;
    const int height = legend + write_legend(picture, 0, NULL) * LEGEND_ROW + 10;
    const int width = LEFT + WIDTH + RIGHT;

    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"11\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
            "<text x=\"10\" y=\"18\" font-size=\"13\">",
            width, height, width, height);
    svg_write_text(file, picture->problem);
    fprintf(file, "</text>\n<text x=\"10\" y=\"36\">");
    svg_write_text(file, picture->range);
    fprintf(file, " on ");
    svg_write_text(file, picture->arch);
    fprintf(file, ": predicted time over the size, a colour for each kernel</text>\n");
    write_axes(&sizes, &times, file);
    for (size_t i = 0; i < picture->count; i++) {
        write_band(&picture->bands[i], &sizes, &times, file);
    }
    (void)write_legend(picture, legend, file);
    fprintf(file, "</svg>\n");
}
