/* A backtracking sudoku solver. Built with -DWIDTH=10 it has the bug of the paper's mutant: a row of the
   board is one cell too wide, so the loop over 81 cells reads the last rows wrongly and loading fails. */
#include "bench.h"

#ifndef WIDTH
#define WIDTH 9
#endif

struct board {
    char cells[9 * WIDTH];
};

static struct board board;
static const char *rows[9] = {"53..7....", "6..195...", ".98....6.", "8...6...3", "4..8.3..1",
                              "7...2...6", ".6....28.", "...419..5", "....8..79"};

static int fits(const struct board *b, int cell, int value) {
    for (int i = 0; i < 9; i++) {
        int box = cell / 27 * 27 + cell % 9 / 3 * 3 + i / 3 * 9 + i % 3;
        if (b->cells[cell / 9 * 9 + i] == value || b->cells[i * 9 + cell % 9] == value || b->cells[box] == value)
            return 0;
    }
    return 1;
}

__attribute__((noinline)) void put_cell(struct board *b, int cell, int value, int ok) {
    __asm__ volatile("" : "+r"(ok));
    b->cells[cell] = (char)value;
}

/* First the text of each row, then each of the 81 cells to its number. */
__attribute__((noinline)) int load_board(struct board *b) {
    for (int row = 0; row < 9; row++)
        memcpy(b->cells + row * WIDTH, rows[row], 9);
    for (int cell = 0; cell < 81; cell++) {
        char c = b->cells[cell];
        if (c != '.' && (c < '1' || c > '9'))
            return 0;
        b->cells[cell] = c == '.' ? 0 : (char)(c - '0');
    }
    return 1;
}

__attribute__((noinline)) void start_load(struct board *b) { __asm__ volatile("" : "+r"(b)); }
__attribute__((noinline)) void end_load(struct board *b, int ok) { __asm__ volatile("" : "+r"(b), "+r"(ok)); }

static int solve(struct board *b) {
    int cell = 0;
    while (cell < 81 && b->cells[cell])
        cell++;
    if (cell == 81)
        return 1;
    for (int value = 1; value <= 9; value++)
        if (fits(b, cell, value)) {
            put_cell(b, cell, value, 1);
            if (solve(b))
                return 1;
            put_cell(b, cell, 0, 1);
        }
    return 0;
}

int main(void) {
    bench_begin();
    start_load(&board);
    int ok = load_board(&board);
    end_load(&board, ok);
    if (ok)
        ok = solve(&board);
    bench_end("");
    puts(ok ? "solved" : "bad board");
    return 0;
}
