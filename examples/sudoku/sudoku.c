// Solves a sudoku by trying. `-DMUTANT` puts a mistake into the check of the boxes.
#include <stdio.h>

struct board {
    int cells[81];
};

static const struct board given = {{
    5, 3, 0, 0, 7, 0, 0, 0, 0, //
    6, 0, 0, 1, 9, 5, 0, 0, 0, //
    0, 9, 8, 0, 0, 0, 0, 6, 0, //
    8, 0, 0, 0, 6, 0, 0, 0, 3, //
    4, 0, 0, 8, 0, 3, 0, 0, 1, //
    7, 0, 0, 0, 2, 0, 0, 0, 6, //
    0, 6, 0, 0, 0, 0, 2, 8, 0, //
    0, 0, 0, 4, 1, 9, 0, 0, 5, //
    0, 0, 0, 0, 8, 0, 0, 7, 9,
}};

static struct board puzzle;

void place(struct board *board, int cell, int digit) {
    board->cells[cell] = digit;
}

static int fits(const struct board *board, int cell, int digit) {
    int row = cell / 9, column = cell % 9;
    for (int i = 0; i < 9; i++) {
        if (board->cells[row * 9 + i] == digit || board->cells[i * 9 + column] == digit)
            return 0;
#ifdef MUTANT
        int box = (row / 3 * 3 + i / 3) * 9 + column % 3 * 3 + i % 3;
#else
        int box = (row / 3 * 3 + i / 3) * 9 + column / 3 * 3 + i % 3;
#endif
        if (board->cells[box] == digit)
            return 0;
    }
    return 1;
}

static int solve(struct board *board, int cell) {
    while (cell < 81 && board->cells[cell])
        cell++;
    if (cell == 81)
        return 1;
    for (int digit = 1; digit <= 9; digit++) {
        if (!fits(board, cell, digit))
            continue;
        place(board, cell, digit);
        if (solve(board, cell + 1))
            return 1;
        place(board, cell, 0);
    }
    return 0;
}

int main(void) {
    struct board *board = &puzzle;
    for (int cell = 0; cell < 81; cell++)
        place(board, cell, given.cells[cell]);
    int solved = solve(board, 0);
    for (int row = 0; row < 9; row++) {
        for (int column = 0; column < 9; column++)
            printf("%d", board->cells[row * 9 + column]);
        printf("\n");
    }
    return !solved;
}
